/** What is asked of this vendor for sounds, and what each of its answers means. */
import { failures } from '../../../test/vendor-answers/speech.ts'
import { testProducts } from '../../../test/vendor-media.ts'

testProducts([
  {
    id: 'google/lyria-3.5',
    inputs: { prompt: 'calm piano' },
    sent: {
      method: 'POST',
      path: '/interactions',
      json: { model: 'lyria-3.5', input: 'calm piano', store: false },
    },
    replies: [
      [
        'ok',
        {
          json: {
            status: 'completed',
            steps: [
              { type: 'user_input', content: [{ type: 'text', text: 'calm piano' }] },
              {
                type: 'model_output',
                content: [
                  { type: 'text', text: '[verse]' },
                  { type: 'audio', mime_type: 'audio/mpeg', data: 'SUQz' },
                ],
              },
            ],
          },
        },
        { song: 1 },
      ],
      ['blocked', { json: { status: 'failed', errors: [{ message: 'PROHIBITED content' }] } }, 'blocked'],
      ['failed', { json: { status: 'failed', errors: [{ message: 'oops' }] } }, 'fault of vendor'],
      ...failures({ error: { code: 400, message: 'no', status: 'INVALID_ARGUMENT' } }),
    ],
  },
])
