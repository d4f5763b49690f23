/** What is asked of this vendor for texts and facts, and what each of its answers means. */
import { failures, pdf } from '../../../test/vendor-answers/utility.ts'
import { testProducts } from '../../../test/vendor-media.ts'

testProducts([
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
])
