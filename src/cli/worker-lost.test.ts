/** The parent of several workers goes on when a worker ends while it is asked: its channel is gone before its end is known. */
import { expect, test } from 'bun:test'
import { gatherConfig } from './worker-config.ts'
import { gatherMetrics } from './worker-metrics.ts'

const gone = {
  send: () => {
    throw new Error('the channel is closed')
  },
}

test('metrics are those of the others', async () => {
  const metrics = gatherMetrics()
  const answers: unknown[] = []
  const worker = {
    send: (message: { type: string; id: number; snapshot?: unknown }) => {
      if (message.type === 'ask')
        void metrics.received(worker, { type: 'report', id: message.id, snapshot: {} })
      else answers.push(message.snapshot)
    },
  }
  metrics.started(gone)
  metrics.started(worker)
  await metrics.received(worker, { type: 'ask', id: 1 })
  await metrics.received(gone, { type: 'ask', id: 2 })
  expect(answers).toEqual([{}])
})

test('so is the configuration', async () => {
  const config = gatherConfig()
  config.started(gone)
  expect(await config.ask('status')).toEqual([])
})
