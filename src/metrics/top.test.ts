/** What `turnpike top` makes of two readings. */
import { expect, test } from 'bun:test'
import { newMeters } from './meters.ts'
import { render } from './render.ts'
import { snapshotOf } from './snapshot.ts'
import { overviewOf, quantileIn, samplesIn, vendorRowsOf } from './top.ts'

const spanOf = (work: (meters: ReturnType<typeof newMeters>) => void) => {
  const meters = newMeters()
  const read = () =>
    samplesIn(
      render(
        snapshotOf(meters.registry, [
          ['vendorKeys', 3, ['a"b']],
          ['restingKeys', 1, ['a"b']],
          ['inTouch', 1],
        ]),
        'prometheus',
      ),
    )
  meters.attempted('a"b', 'failed', 5)
  const before = read()
  work(meters)
  return { before, after: read(), seconds: 2 }
}

test('rates count what came between the readings', () => {
  const span = spanOf((meters) => {
    for (const ms of [20, 20, 20]) meters.attempted('a"b', 'ok', ms)
    meters.attempted('a"b', 'failed', 20)
  })
  expect(vendorRowsOf(span)).toEqual([
    {
      vendor: 'a\\"b',
      asked_per_second: 2,
      ok: '75.0 %',
      ms_p50: '17.5',
      ms_p99: '24.9',
      usd_per_minute: 0,
      from_cache: '-',
      cache_saved_per_minute: 0,
      keys: '3 (1 rest)',
    },
  ])
  expect(overviewOf(span)).toMatchObject({ in_touch: true, calls_per_second: 0, added_ms_p99: '-' })
})

test('a quantile lies within its bucket, and beyond the last bound is that bound', () => {
  const span = spanOf((meters) => {
    for (let call = 0; call < 100; call++) meters.gateWaited('settle', call < 50 ? 0.4 : 1.5)
  })
  const name = 'turnpike_gate_wait_seconds'
  expect(quantileIn(span, name, 0.5)).toBeCloseTo(0.000_5, 9)
  expect(quantileIn(span, name, 0.75)).toBeCloseTo(0.001_5, 9)
  const far = spanOf((meters) => meters.gateWaited('settle', 9_000))
  expect(quantileIn(far, name, 0.5)).toBe(1)
  expect(quantileIn(far, 'turnpike_nothing', 0.5)).toBeUndefined()
})

test('a vendor shows how much of its input came from caches, by key, and what that saved', () => {
  const span = spanOf((meters) => {
    const answered = (vendorKey: string, cached: number, cacheSaved: bigint) =>
      meters.called(
        {
          endpoint: '/v1/messages',
          vendor: 'a"b',
          model: 'm',
          ended: 'ok',
          startedMs: 0,
          times: { lostMs: 0 },
          vendorKey,
          usage: { input: 100 - cached, cache_read: cached },
          charged: 1n,
          cacheSaved,
        },
        200,
        1,
      )
    answered('0', 90, 2_000_000n)
    answered('0', 70, 0n)
    answered('2', 5, -500_000n)
  })
  expect(vendorRowsOf(span)).toMatchObject([
    { from_cache: '55.0 % (0: 80.0 %, 2: 5.0 %)', cache_saved_per_minute: 0.045 },
  ])
})
