/** Mistral's OCR. Source: npm @mistralai/mistralai 2.7.0; prices of genai-prices. */
import { z } from 'zod'
import { postJson } from '../../media/post-json.ts'
import type { VendorMedia } from '../../media/product.ts'
import { usd } from '../../media/rate-card.ts'
import { countAt, listAt, member, objectOf, textAt } from '../../media/read-answer.ts'
import type { Inputs, OnceShape } from '../../media/shape.ts'
import { mistralBatches } from '../batches/openai-form.ts'
import { usualChat } from '../usual-chat.ts'
import type { Vendor } from '../vendor.ts'

/** The vendor's own limit on a document. */
const PAGES_MAX = 1_000

const isPdf = (document: Inputs[string]): boolean => String(document).startsWith('data:application/pdf')

const pagesOf = ({ document, pages }: Inputs): number =>
  !isPdf(document) ? 1 : Array.isArray(pages) ? pages.length : PAGES_MAX

const read: OnceShape['read'] = (answer, inputs) => {
  const body = objectOf(answer)
  const pages = listAt(body, 'pages')
  if (body === undefined || pages === undefined) return undefined
  const counted = countAt(member(body, 'usage_info'), 'pages_processed')
  const text = pages.map((page) => textAt(page, 'markdown') ?? '').join('\n\n')
  return {
    verdict: 'done',
    outputs: [{ type: 'text', text }],
    body,
    measured: { page: counted ?? Math.min(pages.length, pagesOf(inputs)) },
  }
}

const mistralMedia: VendorMedia = {
  unverified: 'bodies of errors',
  models: [
    {
      name: 'ocr',
      upstreamName: 'mistral-ocr-2512',
      category: 'utility',
      title: 'Mistral OCR',
      description: 'Reads the pages of a PDF or a picture as Markdown; billed by the page.',
      inputs: z.strictObject({
        document: z
          .string()
          .regex(/^data:(?:application\/pdf|image\/(?:png|jpeg|webp|avif));base64,[A-Za-z0-9+/]/, {
            message:
              'must be a PDF or a picture: a base64 data: address, a public https address, or the id of a file (file-…)',
          })
          .meta({ 'x-media': 'application/pdf, image/*' }),
        pages: z.array(z.int().min(0).max(9_999)).min(1).max(PAGES_MAX).optional(),
      }),
      example: { document: `data:application/pdf;base64,${btoa('%PDF-1.4\n%%EOF')}`, pages: [0] },
      shape: {
        flow: 'once',
        ask: ({ document, pages }, model) =>
          postJson('/ocr', {
            model,
            document: isPdf(document)
              ? { type: 'document_url', document_url: String(document) }
              : { type: 'image_url', image_url: String(document) },
            ...(pages === undefined ? {} : { pages }),
            include_image_base64: false,
          }),
        read,
      },
      card: { rows: [{ rates: { page: usd('2', 1_000) } }], most: { page: pagesOf } },
      source: '@pydantic/genai-prices 0.1.8, November 2026',
    },
  ],
}

/** Mistral: speaks chat completions at its own address. Source: Mistral AI API docs, Chat Completion; usage comes with the last event unasked, and unknown members are refused, reasoning_content among them. */
export const mistral = {
  ...usualChat,
  id: 'mistral',
  name: 'Mistral',
  keyVariable: 'MISTRAL_API_KEY',
  baseUrl: 'https://api.mistral.ai/v1',
  surfaces: ['chat', 'embeddings'],
  takesStreamOptions: false,
  reasoningBack: 'refused',
  refuses: ['logprobs', 'user'],
  seed: 'random_seed',
  catalogue: { prices: 'mistral', limits: 'mistral' },
  shortIds: true,
  // Mistral AI, "Batch Inference": half. Nothing is said of cached input.
  batches: { form: mistralBatches, cachedInput: () => 'as input' },
  media: mistralMedia,
} satisfies Vendor
