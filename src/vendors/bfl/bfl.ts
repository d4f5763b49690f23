/**
 * FLUX at its maker. Sources: docs.bfl.ai, API reference and pricing; npm @ai-sdk/black-forest-labs 2.0.41. The
 * submission's answer says where to poll, on another host of the vendor's. The result is on a third host and must be
 * fetched within ten minutes, without the key. Not verified: the texts of errors, limits of active tasks.
 */
import { z } from 'zod'
import { inlinePicture } from '../../media/inline-picture.ts'
import { picturePixels } from '../../media/picture-pixels.ts'
import { postJson } from '../../media/post-json.ts'
import type { MediaModel, VendorMedia } from '../../media/product.ts'
import { usd } from '../../media/rate-card.ts'
import { member, numberAt, objectOf, textAt } from '../../media/read-answer.ts'
import { addressAt, BLOCKED, failed, goesOn, jobDone, outputAt } from '../../media/read-job.ts'
import type { Inputs, JobShape } from '../../media/shape.ts'
import { noChat } from '../no-chat.ts'
import type { Vendor } from '../vendor.ts'

/** 1024 by 1024: the vendor's megapixel. */
const MEGAPIXEL = 1_048_576
/** What each further megapixel is counted as, so that its price is exact. */
const MILLION = 1_000_000
/** A credit is one cent. */
const NANO_A_CREDIT = 10_000_000

const megapixels = (pixels: number): number => Math.max(1, Math.ceil(pixels / MEGAPIXEL))

/** Billed megapixels: of the result, and of an image to change, each rounded up. */
const billed = ({ width, height, input_image: input }: Inputs): number =>
  megapixels(Number(width) * Number(height)) +
  (typeof input === 'string' ? megapixels(picturePixels(input) ?? 0) : 0)

const further = (count: number): number => (count - 1) * MILLION

const shape: JobShape = {
  flow: 'job',
  hosts: ['bfl.ai'],
  ask: ({ input_image: input, ...inputs }, model, { wakeAt }) =>
    postJson(`/${model}`, {
      ...inputs,
      ...(typeof input === 'string' ? { input_image: input.slice(input.indexOf(',') + 1) } : {}),
      ...(wakeAt === undefined ? {} : { webhook_url: wakeAt }),
    }),
  readRef: (answer, { inputs }) => {
    const body = objectOf(answer)
    const [id, url] = [textAt(body, 'id'), addressAt(body, 'polling_url')]
    if (id === undefined || url === undefined) return undefined
    const cost = numberAt(body, 'cost')
    const [output, input] = [numberAt(body, 'output_mp'), numberAt(body, 'input_mp')]
    const count =
      output === undefined || input === undefined ? billed(inputs) : Math.ceil(output) + Math.ceil(input)
    return {
      ref: { id, url, megapixels: Math.max(1, count) },
      ...(cost === undefined ? {} : { vendorCost: BigInt(Math.round(cost * NANO_A_CREDIT)) }),
    }
  },
  poll: (ref) => ({ method: 'GET', path: textAt(ref, 'url') ?? '' }),
  readPoll: (answer, { ref }) => {
    const body = objectOf(answer)
    switch (textAt(body, 'status')) {
      case 'Pending':
        return goesOn(numberAt(body, 'progress'))
      case 'Ready': {
        const url = addressAt(member(body, 'result'), 'sample')
        if (body === undefined || url === undefined) return failed('the result has no address')
        const pixel = further(numberAt(ref, 'megapixels') ?? 1)
        return jobDone([outputAt('image', url, ['result', 'sample'])], body, { image: 1, pixel })
      }
      case 'Request Moderated':
      case 'Content Moderated':
        return BLOCKED
      case 'Error':
        return failed('the picture could not be made')
      default:
        return undefined
    }
  },
  onCancel: 'billed',
  everyMs: 1_000,
  deadlineMs: 600_000,
}

const side = z.int().min(64).max(2_048).multipleOf(16)

const inputs = z.strictObject({
  prompt: z.string().min(1).max(32_000),
  width: side.default(1_024),
  height: side.default(1_024),
  input_image: inlinePicture
    .refine((address) => picturePixels(address) !== undefined, {
      message: 'is no picture whose size can be read',
    })
    .optional(),
  seed: z.int().min(0).max(2_147_483_647).optional(),
  safety_tolerance: z.int().min(0).max(5).default(2),
  output_format: z.enum(['png', 'jpeg']).default('png'),
})

const flux2 = (
  name: string,
  title: string,
  description: string,
  [first, each]: readonly [first: string, each: string],
): MediaModel => ({
  name,
  category: 'image',
  title,
  description: `${description} From a text, or from a picture and a text.`,
  inputs,
  example: { prompt: 'a red fox in snow' },
  shape,
  card: {
    rows: [{ rates: { image: usd(first), pixel: usd(each, MILLION) } }],
    most: { image: () => 1, pixel: (given) => further(billed(given)) },
  },
  source:
    'docs.bfl.ai/quick_start/pricing.md, 2026: the first megapixel, and each further one or of a picture given',
})

const bflMedia: VendorMedia = {
  unverified: 'texts of errors, limits of active tasks, the smallest side',
  models: [
    flux2('flux-2-pro', 'FLUX.2 [pro]', 'Pictures for production, quickly.', ['0.03', '0.015']),
    flux2('flux-2-max', 'FLUX.2 [max]', 'The best pictures of this family.', ['0.07', '0.03']),
    flux2('flux-2-flex', 'FLUX.2 [flex]', 'Pictures with fine details and letters.', ['0.05', '0.05']),
    flux2('flux-2-klein-4b', 'FLUX.2 [klein] 4B', 'Pictures in a second, cheaply.', ['0.014', '0.001']),
    flux2('flux-2-klein-9b', 'FLUX.2 [klein] 9B', 'Pictures in a second, better.', ['0.015', '0.002']),
  ],
}

export const bfl = {
  ...noChat,
  id: 'bfl',
  name: 'Black Forest Labs',
  keyVariable: 'BFL_API_KEY',
  baseUrl: 'https://api.bfl.ai/v1',
  auth: 'x-key',
  media: bflMedia,
} satisfies Vendor
