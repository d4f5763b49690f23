/** Firecrawl's scraping. Sources: npm @mendable/firecrawl-js 1.21.1; docs.firecrawl.dev/billing. */
import { z } from 'zod'
import { postJson } from '../../media/post-json.ts'
import type { VendorMedia } from '../../media/product.ts'
import { countAt, jsonDone, member, objectOf } from '../../media/read-answer.ts'
import { noChat } from '../no-chat.ts'
import type { Vendor } from '../vendor.ts'

const firecrawlMedia: VendorMedia = {
  unverified: 'the second version of its API, the price of a credit',
  models: [],
  waiting: [
    {
      name: 'scrape',
      category: 'utility',
      title: 'Firecrawl Scrape',
      description: 'Reads one web page as Markdown, HTML or links; one credit.',
      inputs: z.strictObject({
        url: z.httpUrl().max(2_000),
        // Formats that use a language model cost four credits more, so they are not offered.
        formats: z
          .array(z.enum(['markdown', 'html', 'rawHtml', 'links']))
          .min(1)
          .max(4)
          .default(['markdown']),
        onlyMainContent: z.boolean().default(true),
      }),
      example: { url: 'https://example.com' },
      shape: {
        flow: 'once',
        // Each page of a PDF would cost another credit.
        ask: (inputs) => postJson('/v1/scrape', { ...inputs, parsePDF: false }),
        read: (answer) => {
          const body = objectOf(answer)
          if (body?.success === false)
            return { verdict: 'failed', fault: 'vendor', message: String(body.error ?? 'nothing was read') }
          const data = member(body, 'data')
          if (body === undefined || data === undefined) return undefined
          return jsonDone(body, { credit: countAt(member(data, 'metadata'), 'creditsUsed') ?? 1 })
        },
      },
      most: { credit: () => 1 },
      source: 'one credit a page, but a credit costs what the plan makes it',
    },
  ],
}

export const firecrawl = {
  ...noChat,
  id: 'firecrawl',
  name: 'Firecrawl',
  keyVariable: 'FIRECRAWL_API_KEY',
  baseUrl: 'https://api.firecrawl.dev',
  media: firecrawlMedia,
} satisfies Vendor
