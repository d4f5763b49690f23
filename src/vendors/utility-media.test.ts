/**
 * Search, reading, ranking, translation and moderation: what we send to each vendor, and what each of its answers
 * means.
 */
import { expect, test } from 'bun:test'
import { type ProductCases, type ReplyCase, readingOf, sentOf } from '../../test/vendor-media.ts'

const failures = (bad: object, badStatus = 400): ReplyCase[] => [
  ['bad request', { status: badStatus, json: bad }, 'invalid_parameter'],
  ['rate limit', { status: 429, json: bad }, 'upstream_error'],
  ['no credits', { status: 402, json: bad }, 'upstream_error'],
  ['refused key', { status: 403, text: 'Forbidden' }, 'upstream_error'],
  ['something else', { json: { hello: 1 } }, 'broken'],
  ['no JSON', { text: '<p>' }, 'broken'],
]
const pdf = 'data:application/pdf;base64,JVBERi0='
const documents = ['a fox', 'a dog']
const ranked = [{ index: 0, relevance_score: 0.9 }]

const products: ProductCases[] = [
  {
    id: 'openai/omni-moderation-latest',
    inputs: { input: ['some text'] },
    sent: {
      method: 'POST',
      path: '/moderations',
      json: { model: 'omni-moderation-latest', input: ['some text'] },
    },
    replies: [
      ['ok', { json: { id: 'm', results: [{ flagged: false }] } }, {}],
      ...failures({ error: { message: 'no' } }),
    ],
  },
  {
    id: 'mistral/ocr',
    inputs: { document: pdf, pages: [0, 1] },
    sent: {
      method: 'POST',
      path: '/ocr',
      json: {
        model: 'mistral-ocr-2512',
        document: { type: 'document_url', document_url: pdf },
        pages: [0, 1],
        include_image_base64: false,
      },
    },
    replies: [
      ['ok', { json: { pages: [{ markdown: '# A' }], usage_info: { pages_processed: 2 } } }, { page: 2 }],
      ['ok without a count', { json: { pages: [{ markdown: '# A' }] } }, { page: 1 }],
      ...failures({ object: 'error', message: { detail: [] }, type: 'invalid_request_error' }, 422),
    ],
  },
  {
    id: 'deepl/translate',
    inputs: { text: 'Hello.', target_lang: 'DE', source_lang: 'EN' },
    sent: {
      method: 'POST',
      path: '/v2/translate',
      json: {
        text: ['Hello.'],
        target_lang: 'DE',
        source_lang: 'EN',
        formality: 'default',
        show_billed_characters: true,
      },
    },
    replies: [
      ['ok', { json: { translations: [{ text: 'Hallo.', billed_characters: 6 }] } }, { character: 6 }],
      ['ok without a count', { json: { translations: [{ text: 'Hallo.' }] } }, { character: 6 }],
      ['one too few', { json: { translations: [] } }, 'broken'],
      ['used up', { status: 456, json: { message: 'Quota exceeded' } }, 'upstream_error'],
      ['too large', { status: 413, text: '' }, 'request_too_large'],
      ...failures({ message: 'no' }),
    ],
  },
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
]

for (const { id, inputs, sent, replies } of products) {
  test(`${id}: what is sent`, () => {
    expect(sentOf(id, inputs)).toEqual(sent)
  })
  test.each(replies.map((one) => [...one] as const))(`${id}: %s`, (_what, reply, expected) => {
    expect(readingOf(id, inputs, reply)).toEqual(expected)
  })
}
