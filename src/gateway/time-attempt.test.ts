/** Whose time it is while a vendor is asked. */
import { expect, test } from 'bun:test'
import { systemClock } from '../core/time.ts'
import { newMeters } from '../metrics/meters.ts'
import { timed } from './time-attempt.ts'
import { newTrace } from './trace.ts'

/** An attempt that is asked at 10 and read at `readMs`, with a commit from 12 to 20. */
const attemptRead = async (engine: 'sqlite' | 'postgres', readMs: number) => {
  const meters = newMeters()
  const trace = newTrace('call', 0)
  const clock = { ...systemClock, monotonicMs: () => readMs }
  await timed({ clock, meters, store: { engine } }, trace, async () => {
    trace.askedMs = 10
    meters.committed(1, 12, 20)
    return { answer: 1 }
  })
  return [trace.begunMs, trace.answeredMs]
}

test('an answer that waited for a commit which lets nothing else run had come before it', async () => {
  expect(await attemptRead('sqlite', 20.2)).toEqual([12, 12])
  expect(await attemptRead('sqlite', 25)).toEqual([25, 25])
  expect(await attemptRead('postgres', 20.2)).toEqual([20.2, 20.2])
})

test('an attempt that came to nothing is no part of the answer, and is not ours either', async () => {
  const trace = newTrace('call', 0)
  const clock = { ...systemClock, monotonicMs: () => 30 }
  const failing = timed({ clock, meters: newMeters(), store: { engine: 'sqlite' } }, trace, async () => {
    trace.askedMs = 10
    throw new Error('gone')
  })
  await expect(failing).rejects.toThrow('gone')
  expect([trace.lostMs, trace.askedMs]).toEqual([20, undefined])
})
