/** What is asked of this vendor for sounds, and what each of its answers means. */
import { failures, ok } from '../../../test/vendor-answers/speech.ts'
import { testProducts } from '../../../test/vendor-media.ts'

testProducts([
  {
    id: 'deepgram/aura-2',
    inputs: { text: 'Hello.' },
    sent: {
      method: 'POST',
      path: '/speak',
      query: { model: 'aura-2-thalia-en', encoding: 'mp3' },
      json: { text: 'Hello.' },
    },
    replies: [
      ['ok', ok({ 'dg-char-count': '6' }), { character: 6 }],
      ['ok without a count', ok(), { character: 6 }],
      ['an absurd count', ok({ 'dg-char-count': '-1' }), { character: 6 }],
      ...failures({ err_code: 'Bad Request', err_msg: 'no' }, { 402: { category: 'PAYMENT_REQUIRED' } }),
    ],
  },
])
