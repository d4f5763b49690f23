/** Calls of tests are sent again for each refusal that a busy machine alone brings about, as the server words it. */
import { expect, test } from 'bun:test'
import { refusalBody, unavailable } from '../../src/core/refusal.ts'
import { comingBack } from '../late-ledger.ts'

test.each([
  'The server has lost touch with the ledger.',
  'The ledger is overloaded.',
  'The ledger cannot be reached.',
])('%s', async (why) => {
  const refused = Response.json(refusalBody(unavailable(why), 'r'), { status: 503 })
  const answers = [refused, new Response('well')]
  expect(await (await comingBack(async () => answers.shift() ?? Response.error())).text()).toBe('well')
})
