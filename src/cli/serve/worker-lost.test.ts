/** The parent of several workers goes on when a worker ends while it is asked: its channel is gone before its end is known. */
import { expect, test } from 'bun:test'
import { gatherConfig } from './worker-config.ts'
import { gatherMetrics, type MetricsMessage } from './worker-metrics.ts'

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

/** A worker that has counted seven calls, and then hangs or ends in an orderly way. */
const counting = (everyMs: number, then: string): string => `
  const { askParent } = await import('./worker-metrics.ts')
  const snapshot = { calls: [{ labels: [], value: 7 }], openCalls: [{ labels: [], value: 1 }] }
  const end = askParent(${everyMs}).register(() => snapshot)
  ${then}`

test.each([
  ['is killed', 1, 'setInterval(() => undefined, 1000)'],
  ['ends', 1_000_000, 'end(); await Bun.sleep(0); process.disconnect()'],
])('what a worker counted that nobody asked for stays when it %s', async (_how, everyMs, then) => {
  const metrics = gatherMetrics()
  const reported = Promise.withResolvers<void>()
  const child = Bun.spawn([process.execPath, '-e', counting(everyMs, then)], {
    cwd: import.meta.dir,
    stdio: ['ignore', 'inherit', 'inherit'],
    ipc: (message: MetricsMessage, from) => {
      void metrics.received(from, message)
      reported.resolve()
    },
  })
  metrics.started(child)
  await reported.promise
  child.kill('SIGKILL')
  await child.exited
  metrics.ended(child)
  const answers: unknown[] = []
  const asker = {
    send: (message: object) => {
      if ('snapshot' in message) answers.push(message.snapshot)
    },
  }
  metrics.started(asker)
  const asked = metrics.received(asker, { type: 'ask', id: 1 })
  await metrics.received(asker, { type: 'report', id: 1, snapshot: {} })
  await asked
  expect(answers).toEqual([{ calls: [{ labels: [], value: 7 }] }])
})

test('so is the configuration', async () => {
  const config = gatherConfig()
  config.started(gone)
  expect(await config.ask('status')).toEqual([])
})
