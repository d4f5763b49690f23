/** Lines of batches count in the rates of their key only if the operator says so. */
import { expect, test } from 'bun:test'
import { chatLine, startBatchServer } from './batch-rig.ts'
import { completion } from './harness.ts'

const RPM = 1_000
const LINES = 20

/** Runs a batch; returns how many calls its key has left in the minute. */
const leftAfter = async (batchRates: boolean): Promise<number> => {
  const server = await startBatchServer({ server: { options: { batchRates, planRpm: RPM } } })
  server.answerWith(() => completion('fine'))
  const { token } = await server.newKey()
  const all = Array.from({ length: LINES }, (_, n) => chatLine(n))
  const { id } = await server.client(token).batches.create({
    input_file_id: await server.upload(token, all),
    endpoint: '/v1/chat/completions',
    completion_window: '24h',
  })
  const batch = await server.ended(token, id)
  expect(batch.request_counts?.completed).toBe(LINES)
  const { headers } = await server.post('/v1/chat/completions', chatLine(0).body, {}, token)
  await server.stop()
  return Number(headers.get('x-ratelimit-remaining'))
}

test('with BATCH_RATES lines use up the rate of their key; without it live calls have all of it', async () => {
  const [without, counted] = [await leftAfter(false), await leftAfter(true)]
  // The request that makes the batch counts, and the live call.
  expect(without).toBe(RPM - 2)
  expect(counted).toBe(RPM - 2 - LINES)
})
