/** Tavily's search. Sources: npm @tavily/core 0.7.13; docs.tavily.com/documentation/api-credits. */
import { z } from 'zod'
import type { VendorMedia } from '../../media/product.ts'
import { usd } from '../../media/rate-card.ts'
import { countAt, jsonDone, listAt, member, objectOf } from '../../media/read-answer.ts'
import { noChat } from '../no-chat.ts'
import type { Vendor } from '../vendor.ts'

const domains = z
  .array(z.string().regex(/^[a-z0-9.-]{1,253}$/i))
  .max(100)
  .default([])

const tavilyMedia: VendorMedia = {
  unverified: 'statuses of errors',
  models: [
    {
      name: 'search',
      category: 'utility',
      title: 'Tavily Search',
      description: 'Searches the web for agents; `advanced` costs two credits in place of one.',
      inputs: z.strictObject({
        query: z.string().min(1).max(400),
        search_depth: z.enum(['basic', 'advanced']).default('basic'),
        topic: z.enum(['general', 'news', 'finance']).default('general'),
        max_results: z.int().min(1).max(20).default(5),
        include_answer: z.boolean().default(false),
        include_raw_content: z.boolean().default(false),
        include_domains: domains,
        exclude_domains: domains,
      }),
      example: { query: 'x402 protocol' },
      shape: {
        flow: 'once',
        ask: (inputs) => ({
          method: 'POST',
          path: '/search',
          // Otherwise the vendor may choose the dearer depth itself.
          body: { json: { ...inputs, auto_parameters: false, include_usage: true } },
        }),
        read: (answer) => {
          const body = objectOf(answer)
          if (body === undefined || listAt(body, 'results') === undefined) return undefined
          const credit = countAt(member(body, 'usage'), 'credits')
          return jsonDone(body, credit === undefined ? undefined : { credit })
        },
      },
      card: {
        rows: [{ rates: { credit: usd('0.008') } }],
        most: { credit: ({ search_depth: depth }) => (depth === 'advanced' ? 2 : 1) },
      },
      source: 'docs.tavily.com/documentation/api-credits, November 2026',
    },
  ],
}

export const tavily = {
  ...noChat,
  id: 'tavily',
  name: 'Tavily',
  keyVariable: 'TAVILY_API_KEY',
  baseUrl: 'https://api.tavily.com',
  media: tavilyMedia,
} satisfies Vendor
