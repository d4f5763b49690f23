/** The tools that every agent has, with which it finds and runs all products: names, inputs and descriptions. */
import type { JsonObject } from '../core/json-body.ts'

type MetaTool = {
  readonly name: 'search_products' | 'run_product' | 'get_run' | 'cancel_run'
  readonly title: string
  readonly description: string
  readonly inputSchema: JsonObject
  /** It changes nothing. */
  readonly reads: boolean
}

const runId: JsonObject = {
  type: 'object',
  properties: {
    id: { type: 'string', description: 'The id that run_product told' },
    token: { type: 'string', description: 'Of a run that was paid for without a key: that of its poll_url' },
  },
  required: ['id'],
  additionalProperties: false,
}

export const metaTools: readonly MetaTool[] = [
  {
    name: 'search_products',
    title: 'Search products',
    description:
      'Finds products (chat, embeddings, image, video, speech, transcription, music, video editing, utility) with their prices. With an id in `id` it gives that product whole: its input schema and an example.',
    inputSchema: {
      type: 'object',
      properties: {
        q: { type: 'string', maxLength: 200, description: 'Words, all of which must fit' },
        category: { type: 'string', description: 'Such as image or speech' },
        vendor: { type: 'string' },
        id: { type: 'string', description: 'The id of one product, such as local/sketch-1' },
        page: { type: 'integer', minimum: 1, default: 1 },
      },
      additionalProperties: false,
    },
    reads: true,
  },
  {
    name: 'run_product',
    title: 'Run a product',
    description:
      'Runs any product by its id with its inputs; search_products tells both. It is charged to your key; a refusal costs nothing.',
    inputSchema: {
      type: 'object',
      properties: {
        product: { type: 'string', description: 'The id, such as local/sketch-1' },
        inputs: { type: 'object', description: 'What its input schema takes' },
        max_cost_usd: { type: 'string', description: 'The most it may cost, such as 0.05' },
        idempotency_key: {
          type: 'string',
          description: 'The same for repeats of one run, which are charged once',
        },
      },
      required: ['product', 'inputs'],
      additionalProperties: false,
    },
    reads: false,
  },
  {
    name: 'get_run',
    title: 'Get a run',
    description: 'How a run stands that did not end at once, and its results when it has ended. Free.',
    inputSchema: runId,
    reads: true,
  },
  {
    name: 'cancel_run',
    title: 'Cancel a run',
    description: 'Asks to cancel a run that has not ended.',
    inputSchema: runId,
    reads: false,
  },
]
