/** What a caller learns when its call does not fit: which limit binds, whose it is, what is left, and what to do. */
import { expect, test } from 'bun:test'
import { geminiRefusal } from '../../dialects/gemini/error.ts'
import { type Binding, doesNotFit } from './does-not-fit.ts'

const CREDIT = 10_000_000n
const gateway = { options: { creditNano: CREDIT } } as Parameters<typeof doesNotFit>[2]
const binding: Binding = {
  key: { id: 'mine', ancestors: [], limits: {}, granted: {}, canManage: true },
  owner: undefined,
  limit: 'wallet',
  spent: true,
  available: 3n * CREDIT,
  held: 0n,
}

test('money that is gone is a 402 that says what is needed and what is there', () => {
  const refusal = doesNotFit(binding, { required: 5n * CREDIT }, gateway)
  expect([refusal.code, refusal.status]).toEqual(['insufficient_balance', 402])
  expect(refusal.members).toEqual({
    required_credits: 5,
    available_credits: 3,
    held_credits: 0,
    limit: 'wallet',
  })
  expect(refusal.headers).toEqual({})
  expect(refusal.message).toBe(
    'The call needs 5 credits; the wallet has 3 available. Add credits or ask for less (max_tokens, number, length or size).',
  )
})

test('what to do is what helps with the limit that binds', () => {
  const advice = (limit: Binding['limit'], available = 3n) => {
    const { message } = doesNotFit(
      { ...binding, limit, available: available * CREDIT },
      { required: available === 0n ? 1n : 5n * CREDIT },
      gateway,
    )
    return message.split('. ').at(-1)
  }
  const less = 'ask for less (max_tokens, number, length or size).'
  for (const limit of ['sub_wallet', 'daily_limit_usd'] as const)
    expect(advice(limit)).toBe(`Raise the limit or ${less}`)
  expect(advice('credit_line')).toBe(`Only the operator can raise the limit; ${less}`)
  // No call is too small for the wallet's minimum.
  expect(advice('wallet', 0n)).toBe('Add credits.')
})

test.each<[Binding['limit'], Partial<Binding['key']>, string, boolean]>([
  ['sub_wallet', { canManage: false }, 'mine', false],
  ['sub_wallet', { subWallet: 'bound' }, 'mine', false],
  ['sub_wallet', { ancestors: ['above'] }, 'mine', true],
  ['daily_limit_usd', { ancestors: ['above'] }, 'mine', false],
  ['monthly_cap_usd', { limits: { monthlyCap: 5n } }, 'mine', true],
  ['monthly_cap_usd', { limits: { monthlyCap: 5n }, granted: { monthlyCap: 6n } }, 'mine', true],
  ['monthly_cap_usd', { limits: { monthlyCap: 5n }, granted: { monthlyCap: 5n } }, 'mine', false],
  ['monthly_cap_usd', {}, 'above', false],
  ['spend_cap_usd', { limits: { spendCap: 5n }, granted: { spendCap: 5n } }, 'mine', false],
  ['spend_cap_usd', { limits: { spendCap: 5n } }, 'mine', true],
])('who can raise %s is told: %p of %s', (limit, key, owner, may) => {
  const { message } = doesNotFit(
    {
      ...binding,
      limit,
      owner: limit?.endsWith('cap_usd') ? owner : undefined,
      key: { ...binding.key, ...key },
    },
    { required: 5n * CREDIT, leastOutput: 16 },
    gateway,
  )
  const anew = key.subWallet === undefined ? '' : ', or make another key if the sub-wallet was deleted'
  const way = may
    ? 'Raise the limit or set max_tokens: '
    : `Only the operator or the reseller can raise the limit${anew}; set max_tokens: `
  expect(message).toContain(`. ${way}without it, at least 16 output tokens are held.`)
})

test('the amount that must stay in the wallet is lowered by who may', () => {
  const told = (owner: string, stopAt: bigint) => {
    const key = { ...binding.key, limits: { stopAt }, granted: { stopAt: 5n } }
    return doesNotFit(
      { ...binding, limit: 'stop_at_remaining_usd', owner, key },
      { required: 5n * CREDIT },
      gateway,
    ).message
  }
  expect(told('mine', 6n)).toContain('Add credits, lower that amount or ask for less')
  for (const message of [told('mine', 5n), told('above', 6n)])
    expect(message).toContain('. Add credits or ask for less')
})

test('money that is held is a 429 that says when to come back, and that nothing was charged', () => {
  const refusal = doesNotFit(
    { ...binding, spent: false, available: 0n, held: 4n * CREDIT },
    { required: 2n * CREDIT, leastOutput: 16 },
    gateway,
  )
  expect([refusal.code, refusal.status]).toEqual(['balance_held', 429])
  expect(refusal.headers).toEqual({ 'retry-after': '2' })
  expect(refusal.members).toMatchObject({ retry_after: 2, held_credits: 4 })
  expect(refusal.message).toContain('Nothing was charged; try again in 2 s')
  expect(refusal.message).toEndWith('or set max_tokens: without it, at least 16 output tokens are held.')
})

test.each<[string | undefined, string | undefined, boolean]>([
  [undefined, undefined, false],
  ['mine', 'key', false],
  ['above', 'parent', true],
])('a cap of %s is told as that of %s, and never which key it is', (owner, named, namesAbove) => {
  const refusal = doesNotFit({ ...binding, owner, limit: 'monthly_cap_usd' }, { required: CREDIT }, gateway)
  expect(refusal.members.limit_owner).toBe(named as string)
  expect(refusal.message.includes('of a key above this one')).toBe(namesAbove)
  expect(JSON.stringify([refusal.message, refusal.members])).not.toContain('"above"')
})

test('a wallet below the minimum of any call says so, and other limits know no minimum', () => {
  const need = { required: 1n }
  expect(doesNotFit({ ...binding, available: 0n }, need, gateway)).toMatchObject({
    message: expect.stringContaining('Any call needs 0.01 USD in the wallet (1 credits)'),
    members: { required_credits: 1 },
  })
  const capped = doesNotFit({ ...binding, available: 0n, limit: 'sub_wallet' }, need, gateway)
  expect(JSON.stringify(capped.members.required_credits)).toBe('0.0000001')
})

test('each nano-dollar shows; where a credit has no end, need is rounded up and what is there down', () => {
  const told = (creditNano: bigint) => {
    const here = { options: { creditNano } } as Parameters<typeof doesNotFit>[2]
    const money = { ...binding, limit: 'sub_wallet', available: CREDIT + 4n } as const
    const { members } = doesNotFit(money, { required: CREDIT + 5n }, here)
    return [members.required_credits, members.available_credits]
  }
  expect(told(CREDIT)).toEqual([1.0000005, 1.0000004])
  expect(told(3n * CREDIT)).toEqual([0.3333335, 0.333333466])
})

test('amounts with more digits than a float has are told and shown to the last one', () => {
  const large = 12_345_678_901_234_567n * 10n
  for (const spent of [true, false]) {
    const refusal = doesNotFit(
      { ...binding, spent, available: large, held: large },
      { required: large + CREDIT },
      gateway,
    )
    expect(refusal.message).toStartWith(
      'The call needs 12345678902.234567 credits; the wallet has 12345678901.234567 available',
    )
    expect(JSON.stringify(refusal.members)).toStartWith(
      '{"required_credits":12345678902.234567,"available_credits":12345678901.234567,"held_credits":12345678901.234567,',
    )
    expect(JSON.stringify(geminiRefusal(refusal, 'id'))).toContain('"held_credits":"12345678901.234567"')
  }
})

test('what was overdrawn shows as nothing, not as a debt', () => {
  const { members } = doesNotFit({ ...binding, available: -CREDIT }, { required: CREDIT }, gateway)
  expect(members.available_credits).toBe(0)
})

test.each(['no_credit_line', 'past_due'] as const)('%s says how to pay otherwise', (limit) => {
  const { message } = doesNotFit({ ...binding, limit }, { required: CREDIT }, gateway)
  expect(message).toStartWith('Post-paid billing (mpp) is ')
  expect(message).toContain("'X-Payment-Protocol' out to pay from the wallet")
})
