/** What is asked of this vendor for texts and facts, and what each of its answers means. */
import { documents, failures, ranked } from '../../../test/vendor-answers/utility.ts'
import { testProducts } from '../../../test/vendor-media.ts'

testProducts([
  {
    id: 'jina/jina-reranker-v3',
    inputs: { query: 'fox', documents, top_n: 2 },
    sent: {
      method: 'POST',
      path: '/rerank',
      json: { model: 'jina-reranker-v3', query: 'fox', documents, top_n: 2, return_documents: false },
    },
    replies: [
      ['ok', { json: { results: ranked, usage: { total_tokens: 38 } } }, { input: 38 }],
      ...failures({ detail: 'no' }, 422),
    ],
  },
  {
    id: 'jina/reader',
    inputs: { url: 'https://example.com' },
    sent: {
      method: 'POST',
      path: 'https://r.jina.ai/',
      headers: {
        accept: 'application/json',
        'x-return-format': 'markdown',
        'x-timeout': '20',
        'x-token-budget': '100000',
      },
      json: { url: 'https://example.com' },
    },
    replies: [
      ['ok', { json: { code: 200, data: { content: '# A', usage: { tokens: 120 } } } }, { output: 120 }],
      ...failures({ code: 422, message: 'no' }, 422),
    ],
  },
])
