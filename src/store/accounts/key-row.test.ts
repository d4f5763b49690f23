/** How a change alters a key. */
import { describe, expect, test } from 'bun:test'
import type { Key } from '../../tenancy/key.ts'
import { changedKey } from './key-row.ts'

const key: Key = {
  id: 'k',
  walletId: 'w',
  orgId: 'o',
  ancestors: [],
  above: [],
  label: 'agent',
  prefix: 'sk-ab',
  limits: { spendCap: 100n, rpm: 60 },
  granted: { spendCap: 100n },
  canManage: false,
  deleted: false,
  createdAt: 0,
  version: 3,
}

describe('a change of a key', () => {
  test('leaves absent limits, sets given ones, removes those that are null, and raises the version', () => {
    const next = changedKey(key, { monthlyCap: 50n, rpm: null, byCreator: false }, '2026-11')
    expect(next.limits).toEqual({ spendCap: 100n, monthlyCap: 50n })
    expect(next.version).toBe(4)
  })

  test('by the key itself leaves what its creator granted; by the creator changes that too', () => {
    expect(changedKey(key, { spendCap: 10n, byCreator: false }, '2026-11').granted).toEqual({
      spendCap: 100n,
    })
    expect(changedKey(key, { spendCap: 10n, byCreator: true }, '2026-11').granted).toEqual({ spendCap: 10n })
  })

  test('by the key itself cannot touch a block by the operator', () => {
    const blocked = { ...key, disabledReason: 'operator' } as const
    expect(changedKey(blocked, { disabledReason: null, byCreator: false }, '2026-11').disabledReason).toBe(
      'operator',
    )
    expect(changedKey(blocked, { disabledReason: 'self', byCreator: false }, '2026-11').disabledReason).toBe(
      'operator',
    )
    expect(
      changedKey(blocked, { disabledReason: null, byCreator: true }, '2026-11').disabledReason,
    ).toBeUndefined()
  })

  test('that raises or removes the cap which disabled the key enables it; another change does not', () => {
    const capped = { ...key, disabledReason: 'spend_cap' } as const
    expect(changedKey(capped, { spendCap: 101n, byCreator: true }, '2026-11').disabledReason).toBeUndefined()
    expect(changedKey(capped, { spendCap: null, byCreator: true }, '2026-11').disabledReason).toBeUndefined()
    expect(changedKey(capped, { spendCap: 99n, byCreator: true }, '2026-11').disabledReason).toBe('spend_cap')
    expect(changedKey(capped, { monthlyCap: 500n, byCreator: true }, '2026-11').disabledReason).toBe(
      'spend_cap',
    )
    expect(
      changedKey(capped, { disabledReason: null, byCreator: false }, '2026-11').disabledReason,
    ).toBeUndefined()
  })

  test('keeps the month of a block by the monthly cap', () => {
    const capped = { ...key, disabledReason: 'monthly_cap', disabledMonth: '2026-10' } as const
    expect(changedKey(capped, { label: 'x', byCreator: true }, '2026-11')).toMatchObject({
      disabledMonth: '2026-10',
      label: 'x',
    })
  })
})
