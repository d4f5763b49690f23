/** What is asked of this vendor for texts and facts, and what each of its answers means. */
import { failures } from '../../../test/vendor-answers/utility.ts'
import { testProducts } from '../../../test/vendor-media.ts'

testProducts([
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
])
