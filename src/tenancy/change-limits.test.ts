/** A key narrows its own limits; its creator decides how wide they may be. */
import { expect, test } from 'bun:test'
import { z } from 'zod'
import { readAs } from '../core/body.ts'
import { Refusal } from '../core/refusal.ts'
import { nameFor } from './aliases.ts'
import { checkSelfChange } from './change-limits.ts'
import type { Key } from './key.ts'
import { limitMembers, limitsOfBody, toLimits } from './limits-body.ts'

const key: Key = {
  id: 'key_1',
  walletId: 'w',
  orgId: 'o',
  ancestors: [],
  above: [],
  label: 'agent',
  prefix: 'sk-abc',
  limits: {},
  granted: { spendCap: 10_000_000_000n, rpm: 60, rpd: 500, tpm: 9_000, stopAt: 1_000_000_000n },
  canManage: false,
  deleted: false,
  createdAt: 0,
  version: 1,
}

test('each limit is refused in words that say what its value may be', () => {
  for (const member of Object.keys(limitMembers)) {
    const read = readAs(z.strictObject(limitMembers, toLimits), { [member]: { wrong: { much: 1 } } })
    expect(read).toBeInstanceOf(Refusal)
    expect((read as Refusal).message).not.toMatch(/undefined|\[object/)
  }
})

const names = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`name ${at}`, 'm']))
const change = (body: Record<string, unknown>) => {
  const read = readAs(z.strictObject(limitMembers, toLimits), JSON.parse(JSON.stringify(body)))
  if (read instanceof Refusal) return read.code
  return checkSelfChange(key, limitsOfBody(read), 1_000)?.code ?? 'allowed'
}

test.each([
  [{ spend_cap_usd: 9.5 }, 'allowed'],
  [{ spend_cap_usd: 10 }, 'allowed'],
  [{ spend_cap_usd: 10.000000001 }, 'forbidden'],
  [{ spend_cap_usd: null }, 'forbidden'],
  [{ monthly_cap_usd: 5 }, 'allowed'],
  [{ monthly_cap_usd: null }, 'allowed'],
  [{ rpm_limit: 60 }, 'allowed'],
  [{ rpm_limit: 61 }, 'forbidden'],
  [{ rpd_limit: 500 }, 'allowed'],
  [{ rpd_limit: 501 }, 'forbidden'],
  [{ rpd_limit: null }, 'forbidden'],
  [{ tpm_limit: 9_001 }, 'forbidden'],
  [{ tpm_limit: 0 }, 'invalid_parameter'],
  [{ rph_limit: 1 }, 'allowed'],
  [{ rph_limit: null }, 'allowed'],
  [{ stop_at_remaining_usd: 2 }, 'allowed'],
  [{ stop_at_remaining_usd: 0.5 }, 'forbidden'],
  [{ disabled: true }, 'allowed'],
  [{ disabled: false }, 'allowed'],
  [{ disabled: null }, 'allowed'],
  [{}, 'allowed'],
  [{ spend_cap_usd: -1 }, 'invalid_parameter'],
  [{ spend_cap_usd: '5' }, 'allowed'],
  [{ spend_cap_usd: '10.000000001' }, 'forbidden'],
  [{ spend_cap_usd: 'five' }, 'invalid_parameter'],
  [{ spend_cap_usd: 1e300 }, 'invalid_parameter'],
  [{ spend_cap_usd: 1e-12 }, 'invalid_parameter'],
  [{ rpm_limit: 0 }, 'invalid_parameter'],
  [{ rpm_limit: 1.5 }, 'invalid_parameter'],
  [{ disabled: 'yes' }, 'invalid_parameter'],
  [{ spend_cap: 5 }, 'invalid_parameter'],
  [{ __proto__x: 5 }, 'invalid_parameter'],
  [{ aliases: { fast: 'groq/llama', 'gpt-4o': 'm' } }, 'allowed'],
  [{ aliases: null }, 'allowed'],
  [{ aliases: {} }, 'allowed'],
  [{ aliases: names(100) }, 'allowed'],
  [{ aliases: names(101) }, 'invalid_parameter'],
  [{ aliases: { ['é'.repeat(64)]: 'm' } }, 'allowed'],
  [{ aliases: { ['é'.repeat(65)]: 'm' } }, 'invalid_parameter'],
  [{ aliases: { '': 'm' } }, 'invalid_parameter'],
  [{ aliases: { 'a\nb': 'm' } }, 'invalid_parameter'],
  [{ aliases: { 'a\0': 'm' } }, 'invalid_parameter'],
  [{ aliases: { fast: 5 } }, 'invalid_parameter'],
  [{ aliases: ['fast'] }, 'invalid_parameter'],
  [{ aliases: 'fast' }, 'invalid_parameter'],
])('a key that asks itself for %j is %s', (body, outcome) => {
  expect(change(body)).toBe(outcome)
})

test.each(['operator', 'reseller'] as const)('a key cannot lift a block by the %s', (disabledReason) => {
  const refusal = checkSelfChange({ ...key, disabledReason }, { disabled: false }, 1_000)
  expect([refusal?.code, refusal?.message]).toEqual([
    'forbidden',
    `The key was disabled by the ${disabledReason}; only they can enable it.`,
  ])
})

test('a name is looked for among the aliases alone, not in what every object has', () => {
  expect(
    ['constructor', '__proto__', 'fast'].map((name) => nameFor({ aliases: { fast: 'm' } }, name)),
  ).toEqual(['constructor', '__proto__', 'm'])
  expect(nameFor({}, 'fast')).toBe('fast')
})
