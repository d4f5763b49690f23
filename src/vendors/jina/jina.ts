/** Jina: reranking and reading of web pages. Source: api-evangelist/jina-ai, OpenAPI. */
import { z } from 'zod'
import { postJson } from '../../media/post-json.ts'
import type { VendorMedia } from '../../media/product.ts'
import { countAt, jsonDone, listAt, member, objectOf, textAt } from '../../media/read-answer.ts'
import { noChat } from '../no-chat.ts'
import { documentsOf, rerankExample, rerankInputs } from '../rerank-inputs.ts'
import type { Vendor } from '../vendor.ts'

/** Tokens that the vendor adds to each pair of query and document. */
const AROUND = 16

const jinaMedia: VendorMedia = {
  unverified: 'bodies of errors, the price of a token',
  models: [],
  waiting: [
    {
      name: 'jina-reranker-v3',
      category: 'utility',
      title: 'Jina Reranker v3',
      description: 'Orders documents by how well they answer a query.',
      inputs: rerankInputs,
      example: rerankExample,
      shape: {
        flow: 'once',
        ask: (inputs, model) => postJson('/rerank', { model, ...inputs, return_documents: false }),
        read: (answer) => {
          const body = objectOf(answer)
          if (body === undefined || listAt(body, 'results') === undefined) return undefined
          const input = countAt(member(body, 'usage'), 'total_tokens')
          return jsonDone(body, input === undefined ? undefined : { input })
        },
      },
      most: {
        input: (inputs) => {
          const query = Buffer.byteLength(String(inputs.query))
          return documentsOf(inputs).reduce((sum, one) => sum + query + Buffer.byteLength(one) + AROUND, 0)
        },
      },
      source: 'price of a token not verified',
    },
    {
      name: 'reader',
      category: 'utility',
      title: 'Jina Reader',
      description: 'Reads one web page as Markdown.',
      inputs: z.strictObject({
        url: z.httpUrl().max(2_000),
        max_tokens: z.int().min(1_000).max(500_000).default(100_000),
      }),
      example: { url: 'https://example.com' },
      shape: {
        flow: 'once',
        ask: ({ url, max_tokens: most }) => ({
          method: 'POST',
          path: 'https://r.jina.ai/',
          headers: {
            accept: 'application/json',
            'x-return-format': 'markdown',
            'x-timeout': '20',
            'x-token-budget': String(most),
          },
          body: { json: { url: String(url) } },
        }),
        read: (answer) => {
          const body = objectOf(answer)
          const data = member(body, 'data')
          if (body === undefined || textAt(data, 'content') === undefined) return undefined
          const output = countAt(member(data, 'usage'), 'tokens')
          return jsonDone(body, output === undefined ? undefined : { output })
        },
      },
      most: { output: ({ max_tokens: most }) => Number(most) },
      source: 'price of a token not verified',
    },
  ],
}

export const jina = {
  ...noChat,
  id: 'jina',
  name: 'Jina AI',
  keyVariable: 'JINA_API_KEY',
  baseUrl: 'https://api.jina.ai/v1',
  media: jinaMedia,
} satisfies Vendor
