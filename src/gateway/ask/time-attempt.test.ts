/** Whose time it is while a vendor is being asked. */
import { expect, test } from 'bun:test'
import { systemClock } from '../../core/time.ts'
import { newMeters } from '../../metrics/meters.ts'
import { newTrace } from '../parts/trace.ts'
import { noteAnswered, noteLost } from './time-attempt.ts'

/** An attempt that is asked at 10 and read at `readMs`, with a commit from 12 to 20. */
const attemptRead = (engine: 'sqlite' | 'postgres', readMs: number) => {
  const meters = newMeters()
  const trace = newTrace('call', 0)
  const clock = { ...systemClock, monotonicMs: () => readMs }
  trace.times.askedMs = 10
  meters.committed(1, 12, 20)
  noteAnswered({ clock, watch: { meters }, store: { engine } }, trace)
  return [trace.times.begunMs, trace.times.answeredMs]
}

test('an answer that waited for a commit which lets nothing else run had come before it', () => {
  expect(attemptRead('sqlite', 20.2)).toEqual([12, 12])
  expect(attemptRead('sqlite', 25)).toEqual([25, 25])
  expect(attemptRead('postgres', 20.2)).toEqual([20.2, 20.2])
})

test('an attempt that came to nothing is no part of the answer, and is not ours either', () => {
  const trace = newTrace('call', 0)
  const clock = { ...systemClock, monotonicMs: () => 30 }
  trace.times.askedMs = 10
  noteLost({ clock, watch: { meters: newMeters() }, store: { engine: 'sqlite' } }, trace, 'gone')
  expect(trace.times.lostMs).toBe(20)
  expect(trace.times.askedMs).toBeUndefined()
})
