/** What is asked of this vendor for texts and facts, and what each of its answers means. */
import { documents, failures, ranked } from '../../../test/vendor-answers/utility.ts'
import { testProducts } from '../../../test/vendor-media.ts'

testProducts([
  {
    id: 'cohere/rerank-v4.0-fast',
    inputs: { query: 'fox', documents },
    sent: {
      method: 'POST',
      path: 'https://api.cohere.com/v2/rerank',
      json: { model: 'rerank-v4.0-fast', query: 'fox', documents, max_tokens_per_doc: 4_096 },
    },
    replies: [
      ['ok', { json: { results: ranked, meta: { billed_units: { search_units: 1 } } } }, { search: 1 }],
      ...failures({ id: 'x', message: 'no' }),
    ],
  },
])
