/** What is asked of this vendor for texts and facts, and what each of its answers means. */
import { failures } from '../../../test/vendor-answers/utility.ts'
import { testProducts } from '../../../test/vendor-media.ts'

testProducts([
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
])
