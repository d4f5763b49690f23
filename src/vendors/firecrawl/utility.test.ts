/** What is asked of this vendor for texts and facts, and what each of its answers means. */
import { failures } from '../../../test/vendor-answers/utility.ts'
import { testProducts } from '../../../test/vendor-media.ts'

testProducts([
  {
    id: 'firecrawl/scrape',
    inputs: { url: 'https://example.com' },
    sent: {
      method: 'POST',
      path: '/v1/scrape',
      json: { url: 'https://example.com', formats: ['markdown'], onlyMainContent: true, parsePDF: false },
    },
    replies: [
      ['ok', { json: { success: true, data: { markdown: '# A', metadata: {} } } }, { credit: 1 }],
      ['nothing read', { json: { success: false, error: 'no' } }, 'fault of vendor'],
      ...failures({ success: false, error: 'no' }),
    ],
  },
])
