/** Cohere's reranking. Source: npm cohere-ai 8.1.0. */
import { postJson } from '../../media/post-json.ts'
import type { VendorMedia } from '../../media/product.ts'
import { countAt, jsonDone, listAt, member, objectOf } from '../../media/read-answer.ts'
import { documentsOf, rerankExample, rerankInputs } from '../rerank-inputs.ts'
import { usualChat } from '../usual-chat.ts'
import type { Vendor } from '../vendor.ts'

/** Documents are cut into pieces of 510 tokens, each with the query; no token is shorter than a byte. */
const PIECE_BYTES = 255
const PIECES_A_UNIT = 100

const cohereMedia: VendorMedia = {
  unverified: 'the price of a search unit',
  models: [],
  waiting: [
    {
      name: 'rerank-v4.0-fast',
      category: 'utility',
      title: 'Cohere Rerank 4 Fast',
      description: 'Orders documents by how well they answer a query.',
      inputs: rerankInputs,
      example: rerankExample,
      shape: {
        flow: 'once',
        ask: (inputs, model) =>
          postJson('https://api.cohere.com/v2/rerank', { model, ...inputs, max_tokens_per_doc: 4_096 }),
        read: (answer) => {
          const body = objectOf(answer)
          if (body === undefined || listAt(body, 'results') === undefined) return undefined
          const search = countAt(member(member(body, 'meta'), 'billed_units'), 'search_units')
          return jsonDone(body, search === undefined ? undefined : { search })
        },
      },
      most: {
        search: (inputs) => {
          const pieces = documentsOf(inputs).map((one) => Math.ceil(Buffer.byteLength(one) / PIECE_BYTES))
          return Math.ceil(pieces.reduce((sum, count) => sum + count, 0) / PIECES_A_UNIT)
        },
      },
      source: 'the vendor publishes no price of a search unit',
    },
  ],
}

/** Cohere: speaks chat completions at its compatibility address. Source: Cohere docs, "Using Cohere models via the OpenAI SDK". */
export const cohere = {
  ...usualChat,
  id: 'cohere',
  name: 'Cohere',
  keyVariable: 'COHERE_API_KEY',
  baseUrl: 'https://api.cohere.ai/compatibility/v1',
  surfaces: ['chat', 'embeddings'],
  catalogue: { prices: 'cohere', limits: 'cohere' },
  shortIds: true,
  media: cohereMedia,
} satisfies Vendor
