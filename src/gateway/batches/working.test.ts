/** Whose lines may be sent now. */
import { expect, test } from 'bun:test'
import { Refusal, refuse } from '../../core/refusal.ts'
import type { Batch, TendedBatch } from '../../store/batches/batch-port.ts'
import type { Gateway } from '../parts/gateway.ts'
import { keyOf, stopFor, type Working } from './working.ts'

const asked = async (key: object | undefined, suspended?: string) => {
  const gateway = {
    clock: { now: () => Date.UTC(2026, 10, 1) },
    book: { callerById: async () => key, rules: async () => ({ suspended }), makersOf: () => [] },
  } as unknown as Gateway
  const found = await keyOf(gateway, { keyId: 'k', walletId: 'w' } as Batch)
  return found instanceof Refusal ? found.code : found.id
}
const key = { id: 'k', limits: {}, ancestors: [] }

test('a key that may not call sends no lines, and each reason has its code', async () => {
  expect(await asked(key)).toBe('k')
  expect(await asked(undefined)).toBe('invalid_api_key')
  expect(await asked({ ...key, disabledReason: 'operator' })).toBe('key_disabled')
  expect(await asked(key, 'suspended')).toBe('account_suspended')
  expect(await asked({ ...key, limits: { expiresAt: Date.UTC(2026, 9, 1) } })).toBe('invalid_api_key')
})

test('a batch is stopped for what its key may not do, and not because its organisation moves or has moved', async () => {
  const stopped: string[] = []
  const gateway = {
    store: { batches: { stop: async (_: string, why: string) => void stopped.push(why) } },
  } as unknown as Gateway
  const left: unknown[] = []
  for (const code of ['key_disabled', 'moving', 'moved'] as const) {
    const it = { batch: { id: 'b', leaves: false } as TendedBatch } as Working
    await stopFor(gateway, it, refuse(code, 'no'))
    left.push(it.batch.leaves)
  }
  expect([stopped, left]).toEqual([['key_disabled'], [false, true, false]])
})
