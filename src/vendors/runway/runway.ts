/**
 * Runway's own models. Sources: npm @runwayml/sdk 4.20.1; github.com/runwayml/skills, `rw-api-reference` (credits, failure
 * codes). A credit is a cent. `estimatedCost` is the most a task may cost, `cost` what it did.
 */
import { z } from 'zod'
import type { JsonObject } from '../../core/json-body.ts'
import { postJson } from '../../media/post-json.ts'
import type { VendorMedia } from '../../media/product.ts'
import { usd } from '../../media/rate-card.ts'
import { countAt, listAt, member, numberAt, objectOf, textAt } from '../../media/read-answer.ts'
import {
  addressesIn,
  BLOCKED,
  cancelled,
  failed,
  goesOn,
  jobDone,
  outputAt,
  segmentOf,
} from '../../media/read-job.ts'
import type { JobShape, Verdict } from '../../media/shape.ts'
import { pictureInput } from '../../media/web-input.ts'
import { noChat } from '../no-chat.ts'
import type { Vendor } from '../vendor.ts'

const NANO_A_CREDIT = 10_000_000n

const creditsAt = (body: JsonObject | undefined, name: string): number | undefined =>
  countAt(member(body, name), 'credits')

const spent = (body: JsonObject | undefined) => {
  const credit = creditsAt(body, 'cost')
  return credit === undefined ? undefined : { credit }
}

const failureOf = (body: JsonObject): Verdict => {
  const code = textAt(body, 'failureCode') ?? ''
  if (code.startsWith('SAFETY')) return BLOCKED
  return failed(textAt(body, 'failure'), /^(?:ASSET|INPUT)/.test(code) ? 'inputs' : 'vendor')
}

/** `path` is the service; `type` is what it makes. */
const shape = (path: string, type: 'video' | 'image'): JobShape => ({
  flow: 'job',
  ask: (inputs, model) => postJson(path, { model, ...inputs }),
  readRef: (answer) => {
    const body = objectOf(answer)
    const id = textAt(body, 'id')
    if (id === undefined) return undefined
    const most = creditsAt(body, 'estimatedCost')
    return { ref: { id }, ...(most === undefined ? {} : { vendorCost: BigInt(most) * NANO_A_CREDIT }) }
  },
  poll: (ref) => ({ method: 'GET', path: `/tasks/${segmentOf(ref, 'id')}` }),
  readPoll: (answer) => {
    const body = objectOf(answer)
    switch (textAt(body, 'status')) {
      case 'PENDING':
      case 'THROTTLED':
        return { pending: true }
      case 'RUNNING':
        return goesOn(numberAt(body, 'progress'))
      case 'SUCCEEDED': {
        const urls = addressesIn(listAt(body, 'output'))
        if (body === undefined || urls.length === 0) return failed('the result has no address')
        return jobDone(
          urls.map((url, index) => outputAt(type, url, ['output', index])),
          { ...body, output: urls },
          spent(body),
        )
      }
      case 'CANCELLED':
        return cancelled(spent(body))
      case 'FAILED':
        return failureOf(body ?? {})
      default:
        return undefined
    }
  },
  cancel: (ref) => ({ method: 'DELETE', path: `/tasks/${segmentOf(ref, 'id')}` }),
  onCancel: 'free',
  everyMs: 5_000,
  deadlineMs: 1_800_000,
})

const source = 'github.com/runwayml/skills, rw-api-reference, 2026-08'
const promptText = z.string().min(1).max(1_000)
const seed = z.int().min(0).max(4_294_967_295).optional()
const duration = z.int().min(2).max(10).default(5)
const ratio = z
  .enum(['1280:720', '720:1280', '1104:832', '832:1104', '960:960', '1584:672'])
  .default('1280:720')

const credits = (aSecond: number) => ({ credit: ({ duration: s }: JsonObject) => Number(s) * aSecond })
const credit = { credit: usd('0.01') }

const runwayMedia: VendorMedia = {
  unverified: 'codes of failures, bodies of errors, all ratios',
  models: [
    {
      name: 'gen4.5',
      category: 'video',
      title: 'Runway Gen-4.5',
      description: 'Films of 2 to 10 seconds from text; 12 credits a second.',
      inputs: z.strictObject({ promptText, ratio, duration, seed }),
      example: { promptText: 'a red fox runs through snow', duration: 5 },
      shape: shape('/text_to_video', 'video'),
      card: { rows: [{ rates: credit }], most: credits(12) },
      source,
    },
    {
      name: 'gen4_turbo',
      category: 'video',
      title: 'Runway Gen-4 Turbo',
      description: 'Films of 2 to 10 seconds that begin with a picture; 5 credits a second.',
      inputs: z.strictObject({
        promptImage: pictureInput,
        promptText: promptText.optional(),
        ratio,
        duration,
        seed,
      }),
      example: { promptImage: 'https://example.com/fox.png', promptText: 'it runs', duration: 5 },
      shape: shape('/image_to_video', 'video'),
      card: { rows: [{ rates: credit }], most: credits(5) },
      source,
    },
    {
      name: 'gen4_image',
      category: 'image',
      title: 'Runway Gen-4 Image',
      description: 'Pictures from text, at 720p for 5 credits or 1080p for 8.',
      inputs: z.strictObject({
        promptText,
        ratio: z.enum(['1280:720', '720:1280', '1920:1080', '1080:1920']).default('1280:720'),
        seed,
      }),
      example: { promptText: 'a red fox in snow', ratio: '1920:1080' },
      shape: shape('/text_to_image', 'image'),
      card: {
        rows: [{ rates: credit }],
        most: { credit: ({ ratio }) => (String(ratio).includes('1080') ? 8 : 5) },
      },
      source,
    },
  ],
  waiting: [
    { name: 'veo3.1, veo3.1_fast', why: '20 to 40 and 10 to 15 credits a second: no page says what decides' },
    {
      name: 'gen4_aleph, act_two, upscaling',
      why: 'billed by the length of a film at an address, which nobody knows before the call',
    },
    {
      name: 'speech, sound effects, dubbing',
      why: 'we have not verified the names of voices and the rounding of credits',
    },
    { name: 'models of others (Seedance, Hailuo, Wan, Grok)', why: 'we found no price' },
  ],
}

export const runway = {
  ...noChat,
  id: 'runway',
  name: 'Runway',
  keyVariable: 'RUNWAYML_API_SECRET',
  baseUrl: 'https://api.dev.runwayml.com/v1',
  headers: { 'x-runway-version': '2024-11-06' },
  media: runwayMedia,
} satisfies Vendor
