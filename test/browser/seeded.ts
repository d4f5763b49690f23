/** A console after a month of use: keys, tenants, people and calls, always the same. */

import { leastId } from '../../src/store/months/call-ids.ts'
import { byTest } from '../by-test.ts'
import { type SeededCall, seedCalls } from '../console/seed.ts'
import type { ListeningConsole } from './rig.ts'

const USD = 1_000_000_000n
const DAY = 86_400_000

/** Numbers that look random and are the same each time. */
const drawing = (seed: number) => () => {
  seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
  return seed / 2_147_483_648
}

const models = [
  ['anthropic/claude-sonnet-4-5', 'anthropic', 3_000_000n],
  ['openai/gpt-5-mini', 'openai', 400_000n],
  ['google/gemini-2.5-flash', 'google', 500_000n],
  ['mistral/mistral-large', 'mistral', 2_000_000n],
  ['deepseek/deepseek-chat', 'deepseek', 200_000n],
] as const

const own = [
  ['Support agent', 400n, 150n],
  ['Nightly batch', 900n, undefined],
  ['Search indexer', undefined, 60n],
  ['Ada’s laptop', 40n, 20n],
] as const

const tenants = [
  'Acme GmbH',
  'Blue Harbour Ltd',
  'Cobalt Labs',
  'Dune Travel',
  'Elm & Sons',
  'Fjord Media',
  'Granit AG',
  'Helio Energy',
]

/**
 * Fills the organisation `org_test`, whose wallet must be empty. Its first key is that of the rig. Returns a tenant and
 * the address of its link.
 */
export const seedConsole = async (it: ListeningConsole): Promise<{ tenant: string; link: string }> => {
  const ada = await it.visit('ada@example.com', 'owner', 'org_test', true)
  await it.visit('grace@example.com', 'billing')
  await it.visit('linus@example.com', 'developer')
  const ids: string[] = []
  for (const [label, spend, month] of own) {
    const made = await ada.ask('POST', '/keys', {
      label,
      ...(spend === undefined ? {} : { spend_cap_usd: Number(spend) }),
      ...(month === undefined ? {} : { monthly_cap_usd: Number(month) }),
      ...(label === 'Search indexer' ? { rpm_limit: 120 } : {}),
    })
    ids.push(((await made.json()) as { id: string }).id)
  }
  const list = tenants.map((label, at) => ({
    label,
    reference: `C-${1001 + at}`,
    limits: { monthly_cap_usd: 20 + 10 * (at % 4) },
  }))
  const made = (await (await ada.ask('POST', '/tenants', { tenants: list })).json()) as {
    data: { id: string }[]
  }
  const below = made.data.map(({ id }) => id)
  await ada.ask('PUT', `/keys/${below[3]}`, { disabled: true })
  await ada.ask('PUT', `/keys/${ids[2]}`, { monthly_cap_usd: 80 })
  await ada.ask('PUT', '/rules', { daily_limit_usd: 60, per_call_max_usd: 2, blocked_models: ['mock/*'] })
  for (const [label, budget] of [
    ['Research', 40],
    ['Marketing', 15],
  ] as const)
    await ada.ask('POST', '/sub-wallets', { label, budget_usd: budget })
  for (const [at, name] of ['Birch Works', 'Cedar & Co'].entries())
    await it.store.wallets.createWallet({ id: `wal_seed_${at}`, orgId: `org_seed_${at}`, name }, byTest)
  await ada.ask('PUT', '/operator/accounts/wal_seed_1/suspended', { reason: 'unpaid invoices' })
  await ada.ask('PUT', '/operator/accounts/wal_seed_0/credit-line', { limit_usd: 250, net_days: 14 })
  await ada.ask('PUT', '/tenants/price', { margin_percent: 20 })
  await ada.ask('PUT', `/tenants/${below[1]}/price`, { margin_percent: 12.5 })
  const tenant = below[0] ?? ''
  await ada.ask('POST', `/tenants/${tenant}/links`)
  const { link } = (await (await ada.ask('POST', `/tenants/${tenant}/links`)).json()) as { link: string }
  const month = Math.trunc(Date.now() / DAY) * DAY - 29 * DAY
  seedCalls(it.file, it.wallet, callsOf([...ids, ...below]), [
    { ref: 'checkout:cs_a1', at: month, amount: 150n * USD, note: 'card payment' },
    { ref: 'checkout:cs_b2', at: month + 18 * DAY + 40_000_000, amount: 100n * USD, note: 'card payment' },
  ])
  await seedFailures(it, below, ids)
  // The first request has summed the past, in which there was nothing then.
  await it.store.reports.forgetRollUps()
  await it.store.reports.rollUp()
  const party = {
    name: 'Harbour Reselling Ltd',
    address: '12 Quay Street\nBristol',
    email: 'billing@harbour.example',
  }
  const terms = {
    currency: 'EUR',
    usd_rate: '0.92',
    terms_days: 14,
    taxes: [{ name: 'VAT', percent: 20 }],
    prefix: 'HR-',
  }
  await ada.ask('PUT', '/biller', { ...party, ...terms })
  // Of the days before this month, of which there are some on most days.
  const before = new Date(Date.UTC(new Date().getUTCFullYear(), new Date().getUTCMonth() - 1, 1))
  await ada.ask('POST', '/bills', { month: before.toISOString().slice(0, 7) })
  return { tenant, link: new URL(link).pathname.slice('/console'.length) + new URL(link).hash }
}

/** Calls of the last hours that were not answered: a tenant over its cap, a disabled one, a vendor that is away, mistakes. */
const seedFailures = async (it: ListeningConsole, below: readonly string[], own: readonly string[]) => {
  const [model, vendor] = models[1]
  const away = { vendor, outcome: 'failed', status: 503, tookMs: 812 }
  const kinds = [
    [below[1], 'insufficient_balance', 402, { limit: 'monthly_cap_usd', owner: 'key' }],
    [below[3], 'key_disabled', 403, {}],
    [own[1], 'service_unavailable', 503, { tries: [away, { ...away, status: 500 }, away] }],
    [own[0], 'invalid_parameter', 400, { param: 'messages[3].content' }],
    [own[2], 'rate_limit_exceeded', 429, {}],
  ] as const
  const now = Date.now()
  const rows = Array.from({ length: 28 }, (_, n) => {
    const [keyId = '', code, status, more] = kinds[n % kinds.length] ?? kinds[0]
    const at = now - 120_000 - n * 173_000
    return {
      id: `${leastId(at).slice(0, 24)}${n.toString(16).padStart(12, '0')}`,
      ...{ keyId, at, code, status },
      ...(status === 403 ? {} : { model }),
      ...('tries' in more ? { vendor } : {}),
      detail: { tookMs: 3 + n * 40, endpoint: '/v1/chat/completions', ...more },
    }
  })
  const counts = kinds.map(([keyId = '', code]) => ({
    ...{ keyId, code },
    calls: rows.filter((row) => row.keyId === keyId && row.code === code).length,
  }))
  const day = Math.trunc(now / DAY) * DAY
  await it.store.failures.noteFailures({ day, counts, rows }, 1_000)
}

const callsOf = (keys: readonly string[]): readonly SeededCall[] => {
  const draw = drawing(7)
  const now = Date.now()
  const calls: SeededCall[] = []
  for (let back = 29; back >= 0; back--) {
    const start = Math.trunc(now / DAY) * DAY - back * DAY
    const busy = new Date(start).getUTCDay() % 6 === 0 ? 12 : 34
    for (let n = 0; n < busy + Math.trunc(draw() * 20); n++) {
      const at = Math.trunc(start + draw() * (back === 0 ? Math.max(60_000, now - start - 60_000) : DAY))
      const [model, vendor, price] = models[Math.min(4, Math.trunc(draw() * draw() * 6))] ?? models[0]
      const input = 200 + Math.trunc(draw() * 9_000)
      const output = 50 + Math.trunc(draw() * 1_800)
      const ended = draw() < 0.96 ? 'ok' : 'client_gone'
      const keyId = keys[Math.trunc(draw() * draw() * keys.length)] ?? ''
      const amount = ((BigInt(input) * price) / 1_000n + (BigInt(output) * price * 5n) / 1_000n) * 12n
      calls.push({
        keyId,
        at,
        model,
        vendor,
        amount,
        input,
        output,
        ended,
        tookMs: 400 + Math.trunc(draw() * 6_000),
      })
    }
  }
  return calls
}
