/** What is queued for a response that never ends comes back, and leaves its place and its memory to others. */
import { expect, test } from 'bun:test'
import { newCapacity } from '../../gateway/parts/capacity.ts'
import { Steering } from './steering.ts'

test('input for a response whose request broke off comes back', () => {
  const capacity = newCapacity({
    openCallsMax: 8,
    bufferBytesMax: 1_000_000,
    keySharePercent: 100,
    vendorSharePercent: 100,
    socketsMax: 8,
  })
  const steering = new Steering(capacity, 'key')
  const request = (name: string) => ({ type: 'response.create', input: name, stream_id: name })
  const [broken, other] = [request('broken'), request('other')]
  steering.begins('resp_1', broken)
  steering.begins('resp_2', other)
  const steer = (previous_response_id: string, input: string) =>
    steering.accept({ type: 'response.steer', previous_response_id, input }, `steer ${input}`)
  for (let at = 0; at < 31; at++) steer('resp_1', `${at}`)
  steer('resp_2', 'goes on')
  const full = { error: { code: 'too_many_pending_steers' } }
  expect(steer('resp_2', 'x')).toMatchObject(full)
  const events = steering.breaksOff(broken)
  expect(events).toHaveLength(31)
  expect(events[30]).toMatchObject({
    type: 'response.steer.failed',
    error: { code: 'response_not_active' },
    steer: { id: 'steer 30', previous_response_id: 'resp_1', input: '30' },
    stream_id: 'broken',
  })
  expect(capacity.bytes.used()).toBe(JSON.stringify('goes on').length)
  expect(steering.breaksOff(broken)).toEqual([])
  expect(steer('resp_2', 'y')).toMatchObject({ type: 'response.steer.accepted' })
})
