/** Exa's search. Sources: npm exa-js 2.23.0; exa.ai/docs/reference/pricing. */
import { z } from 'zod'
import { nanoFromNumber } from '../../core/money.ts'
import { postJson } from '../../media/post-json.ts'
import type { VendorMedia } from '../../media/product.ts'
import { usd } from '../../media/rate-card.ts'
import { jsonDone, listAt, member, objectOf } from '../../media/read-answer.ts'
import { noChat } from '../no-chat.ts'
import type { Vendor } from '../vendor.ts'

/** Nano-USD for a search with ten results, and for each further result. */
const SEARCH = 7_000_000
const RESULT = 1_000_000
const INCLUDED = 10

const domains = z
  .array(z.string().regex(/^[a-z0-9.-]{1,253}$/i))
  .min(1)
  .max(100)
  .optional()

const exaMedia: VendorMedia = {
  unverified: 'bodies of errors',
  models: [
    {
      name: 'search',
      category: 'utility',
      title: 'Exa Search',
      description: 'Searches the web and gives pages with their text.',
      inputs: z.strictObject({
        query: z.string().min(1).max(2_000),
        numResults: z.int().min(1).max(100).default(10),
        type: z.enum(['auto', 'fast', 'neural', 'keyword']).default('auto'),
        text: z.boolean().default(true),
        includeDomains: domains,
        excludeDomains: domains,
      }),
      example: { query: 'x402 protocol', numResults: 5 },
      shape: {
        flow: 'once',
        ask: ({ text, ...rest }) =>
          postJson('/search', { ...rest, ...(text === true ? { contents: { text: true } } : {}) }),
        read: (answer) => {
          const body = objectOf(answer)
          if (body === undefined || listAt(body, 'results') === undefined) return undefined
          const { costDollars, ...shown } = body
          const cost = nanoFromNumber(member(costDollars, 'total'))
          return jsonDone(shown, cost === undefined ? undefined : { cost: Number(cost) })
        },
      },
      card: {
        rows: [{ rates: { cost: usd('0.000000001') } }],
        most: { cost: ({ numResults }) => SEARCH + RESULT * Math.max(0, Number(numResults) - INCLUDED) },
      },
      source: 'exa.ai/docs/reference/pricing, November 2026',
    },
  ],
}

export const exa = {
  ...noChat,
  id: 'exa',
  name: 'Exa',
  keyVariable: 'EXA_API_KEY',
  baseUrl: 'https://api.exa.ai',
  auth: 'x-api-key',
  media: exaMedia,
} satisfies Vendor
