/**
 * Every report's path through a large ledger: none reads it whole. The test looks at SQLite's plan, not at the time;
 * docs/performance.md has the numbers of PostgreSQL and of five million calls.
 */

import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fillFailures, fillLedger, ORG, WALLET } from '../../bench/large-ledger.ts'
import { monthOf } from '../../src/core/time.ts'
import type { Engine, Statement } from '../../src/store/engine/engine.ts'
import { openEngine } from '../../src/store/engine/open-engine.ts'
import { storeOver } from '../../src/store/open-store.ts'
import type { Store } from '../../src/store/port.ts'
import { byTest } from '../by-test.ts'

const CALLS = 20_000
const KEYS = 400
const FAILURES = 2_000
const DAY = 86_400_000

let folder: string
let store: Store
let database: Database
/** The statements since the last look. */
let sent: Statement[] = []
/** How long transactions since the last look may take. */
let given: (number | undefined)[] = []

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnpike-plans-'))
  const file = join(folder, 'ledger.db')
  const engine = openEngine({ url: `sqlite:${file}` })
  const recording: Engine = {
    ...engine,
    batch: (lane, statements) => {
      sent.push(...statements)
      return engine.batch(lane, statements)
    },
    transaction: (lane, work, ms) => {
      given.push(ms)
      return engine.transaction(lane, work, ms)
    },
  }
  store = await storeOver(recording)
  await fillLedger(`sqlite:${file}`, { calls: CALLS, keyCount: KEYS, days: 10, until: Date.now() })
  await fillFailures(`sqlite:${file}`, { count: FAILURES, days: 10, until: Date.now() })
  await store.reports.rollUp()
  database = new Database(file, { readonly: true })
})
afterAll(async () => {
  database.close()
  await store.close()
  await rm(folder, { recursive: true, force: true })
})

/** The steps of a statement, as SQLite plans them. */
const planOf = ({ text, params }: Statement): readonly string[] =>
  database
    .query<{ detail: string }, never[]>(`explain query plan ${text}`)
    .all(...(params as never[]))
    .map(({ detail }) => detail)

/** Tables that grow with every call, by the names that statements give them. */
const whole = /^(?:SCAN (?:transfer|usage_detail|t|d)\b|SEARCH t USING PRIMARY KEY \(kind=\?\)$)/

const tomorrow = (Math.trunc(Date.now() / DAY) + 1) * DAY
const span = { orgs: [ORG], from: tomorrow - 30 * DAY, to: tomorrow, only: {}, most: 5_000 }
const of = { orgs: 'all', only: {}, most: 5_000 } as const

const reports: Readonly<Record<string, () => Promise<unknown>>> = {
  'use by day and model': () => store.reports.usage({ ...span, groupBy: ['day', 'model'] }),
  'use by key': () => store.reports.usage({ ...span, groupBy: ['key'] }),
  'use of a chart by key': () => store.reports.usageTop({ ...span, slot: 'day', most: 5 }),
  'use by key with its total': () => store.reports.usageAndTotal({ ...span, groupBy: ['key'], most: 250 }),
  'a statement of all tenants': () =>
    store.reports.usage({ ...span, groupBy: ['key', 'model'], tenants: true, bare: true }),
  'use of tenants': () => store.reports.usage({ ...span, groupBy: ['key'], tenants: true }),
  'use of one key': () => store.reports.usage({ ...span, groupBy: ['day'], keyId: 'key_000000' }),
  'use of what a person made': () => store.reports.usage({ ...span, groupBy: ['model'], madeBy: 'p' }),
  keys: () => store.reports.keys({ orgs: [ORG], which: 'own', most: 100 }),
  'keys near their cap': () => store.reports.keys({ orgs: [ORG], which: 'all', nearCap: true, most: 8 }),
  'newest calls of many keys': () => store.reports.calls({ orgs: [ORG], most: 50 }),
  'newest calls of few keys': () => store.reports.calls({ orgs: ['org_3'], most: 50 }),
  'calls of one key': () => store.reports.calls({ orgs: [ORG], keyId: 'key_000001', most: 50 }),
  movements: () => store.reports.movements({ walletId: WALLET, most: 50 }),
  accounts: () => store.reports.accounts({ orgs: 'all', from: tomorrow - 30 * DAY, most: 50 }),
  processes: () => store.reports.processes(),
  'wallets of an organisation': () => store.reports.walletsOf(ORG),
  'usage of a key and of those below it': () =>
    store.reports.usage({ ...of, tree: 'key_000000', from: 0, to: tomorrow, groupBy: ['day'] }),
  'usage of everybody': () =>
    store.reports.usage({ ...of, from: tomorrow - DAY, to: tomorrow, groupBy: ['model'] }),
  'use up to a moment of a day': () =>
    store.reports.usage({ ...span, tree: 'key_000000', to: tomorrow - 1, groupBy: ['model', 'day'] }),
  'use of a key by hour': () =>
    store.reports.usage({ ...span, from: tomorrow - DAY, tree: 'key_000000', groupBy: ['hour'] }),
  'a month of a credit line': async () => {
    await store.credit.grantCredit({ walletId: WALLET, limit: 1n, netDays: 1 }, byTest)
    await store.credit.statement(WALLET, monthOf(Date.now()))
  },
  'the sums themselves': async () => {
    await store.reports.forgetRollUps()
    await store.reports.rollUp()
  },
}

for (const [name, report] of Object.entries(reports))
  test(`${name}: the ledger is not read whole`, async () => {
    sent = []
    await report()
    expect(sent.length).toBeGreaterThan(0)
    const plans = sent.flatMap(planOf)
    expect(plans.filter((step) => whole.test(step))).toEqual([])
  })

test('the failures of the large ledger are counted by key, day and code', () => {
  const counted = database.query('select sum(calls) as calls, count(*) as slots from failed_day').get()
  const slots = 'select count(distinct key_id || code || (at / 86400000)) as slots from failed_call'
  expect(counted).toEqual({ calls: FAILURES, ...(database.query(slots).get() as object) })
})

test('to write the sums of thousands of keys takes as long as it needs', async () => {
  given = []
  await store.reports.forgetRollUps()
  await store.reports.rollUp()
  expect(given.length).toBeGreaterThan(1)
  expect(given.filter((ms) => ms === undefined || ms < 60_000)).toEqual([])
})

test('the audit sums the calls of all keys once, not those of its keys for each counter', async () => {
  sent = []
  await store.ledger.audit('sums')
  const steps = sent.flatMap(planOf)
  expect(steps.filter((step) => step === 'MATERIALIZE charged')).toHaveLength(1)
  expect(steps.filter((step) => step.startsWith('SEARCH t USING INDEX transfer_key'))).toEqual([])
})

test('what the bench makes balances, and its reports tell the ledger', async () => {
  expect((await store.ledger.audit()).filter(({ ok }) => !ok)).toEqual([])
  const [all] = await store.reports.usage({ ...of, from: 0, to: tomorrow, groupBy: [] })
  expect(all?.requests).toBe(CALLS)
  const { data } = await store.reports.movements({ walletId: WALLET, most: 500 })
  const wallet = await store.wallets.wallet(WALLET)
  expect(data[0]?.balance).toBe(wallet?.balance)
  expect(data.reduce((sum, { amount }) => sum + amount, 0n)).toBe(wallet?.balance ?? 0n)
})
