/** What is asked of this vendor for texts and facts, and what each of its answers means. */
import { failures } from '../../../test/vendor-answers/utility.ts'
import { testProducts } from '../../../test/vendor-media.ts'

testProducts([
  {
    id: 'exa/search',
    inputs: { query: 'x402', numResults: 5 },
    sent: {
      method: 'POST',
      path: '/search',
      json: { query: 'x402', numResults: 5, type: 'auto', contents: { text: true } },
    },
    replies: [
      ['ok', { json: { results: [], costDollars: { total: 0.007 } } }, { cost: 7_000_000 }],
      ['ok without a bill', { json: { results: [] } }, 'not measured'],
      ...failures({ requestId: 'x', error: 'no', tag: 'INVALID_REQUEST_BODY' }),
    ],
  },
])
