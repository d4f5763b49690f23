/** What is asked of this vendor for texts and facts, and what each of its answers means. */
import { failures } from '../../../test/vendor-answers/utility.ts'
import { testProducts } from '../../../test/vendor-media.ts'

testProducts([
  {
    id: 'tavily/search',
    inputs: { query: 'x402' },
    sent: {
      method: 'POST',
      path: '/search',
      json: {
        query: 'x402',
        search_depth: 'basic',
        topic: 'general',
        max_results: 5,
        include_answer: false,
        include_raw_content: false,
        include_domains: [],
        exclude_domains: [],
        auto_parameters: false,
        include_usage: true,
      },
    },
    replies: [
      ['ok', { json: { results: [], usage: { credits: 1 } } }, { credit: 1 }],
      ['ok without usage', { json: { results: [] } }, 'not measured'],
      ['used up', { status: 432, json: { detail: { error: 'no' } } }, 'upstream_error'],
      ...failures({ detail: { error: 'no' } }),
    ],
  },
])
