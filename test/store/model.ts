/** The store's money in plain TypeScript: lists that are summed each time, no counters, no locks, no SQL. */

import { deepEqual, equal } from 'node:assert/strict'
import type { Nano } from '../../src/core/money.ts'
import { DAY_MS, type Day, dayOf, type Month, monthOf, weekOf } from '../../src/core/time.ts'
import { dayScope, keyScope, subScope } from '../../src/ledger/scopes.ts'
import type { Settle } from '../../src/ledger/types.ts'
import type { Store } from '../../src/store/port.ts'
import { type DisabledReason, isEnabled } from '../../src/tenancy/key.ts'
import type { Limits } from '../../src/tenancy/limits.ts'
import { brokenLaws } from './engines.ts'

export type ModelKey = {
  id: string
  wallet: string
  /** Itself and all whose limits bind it. */
  line: string[]
  parentId?: string
  /** The keys whose place it took. */
  replaced: ModelKey[]
  sub?: string
  limits: Limits
  reason?: DisabledReason
  month?: Month
  version: number
}
export type ModelLease = {
  id: string
  instance: string
  key: ModelKey
  month: Month
  week: Day
  day: Day
  sub: string | undefined
  /** Lent less used. */
  left: Nano
  expires: number
  state: 'open' | 'quarantined' | 'closed'
  recall: boolean
  pruned: boolean
}
export type ModelCall = {
  id: string
  lease: ModelLease
  hold: Nano
  spent: Nano
  open: boolean
  charged?: Nano
  refunded: Nano
  settle?: Settle
}
export type ModelSub = { readonly id: string; readonly wallet: string; readonly maker?: string; budget: Nano }
type Charge = { lease: ModelLease; amount: Nano; calls: number }
export type ModelLimit = {
  name: string
  room: Nano
  under: (lease: ModelLease) => boolean
  owner?: ModelKey
  cap?: Nano
  spent: Nano
  /** Limits are asked for money in this order. */
  order: string
}

/** All values of a rotated key are one. */
const placeOf = ({ id, replaced }: ModelKey): string => replaced[0]?.id ?? id

const sum = <T>(list: Iterable<T>, of: (one: T) => Nano): Nano =>
  [...list].reduce((total, one) => total + of(one), 0n)

export class Model {
  now = Date.UTC(2026, 9, 30, 12)
  readonly wallets = ['wallet-a', 'wallet-b']
  readonly posted = new Map<string, Nano>()
  readonly subs: ModelSub[] = []
  readonly dailyLimits = new Map<string, Nano>()
  readonly keys: ModelKey[] = []
  readonly leases: ModelLease[] = []
  readonly calls: ModelCall[] = []
  readonly charges: Charge[] = []
  instances = ['i1', 'i2']
  /** When each instance last sent a heartbeat. */
  readonly beats = new Map<string, number>()

  get month(): Month {
    return monthOf(this.now)
  }

  /** The Monday of the week. */
  get week(): Day {
    const monday = Date.UTC(2026, 0, 5)
    return dayOf(this.now - ((this.now - monday) % (7 * DAY_MS)))
  }

  get day(): Day {
    return dayOf(this.now)
  }

  move(wallet: string, amount: Nano): void {
    this.posted.set(wallet, (this.posted.get(wallet) ?? 0n) + amount)
  }

  charge(lease: ModelLease, amount: Nano): void {
    this.charges.push({ lease, amount, calls: 1 })
    this.move(lease.key.wallet, -amount)
  }

  refund(call: ModelCall, amount: Nano): void {
    call.refunded += amount
    this.charges.push({ lease: call.lease, amount: -amount, calls: 0 })
    this.move(call.lease.key.wallet, amount)
  }

  live = (): ModelLease[] => this.leases.filter(({ state }) => state !== 'closed')
  heldOn = (lease: ModelLease): Nano =>
    sum(
      this.calls.filter((call) => call.open && call.lease === lease),
      ({ hold }) => hold,
    )
  idleOn = (lease: ModelLease): Nano => lease.left - this.heldOn(lease)
  free = (wallet: string): Nano =>
    (this.posted.get(wallet) ?? 0n) -
    sum(
      this.live().filter(({ key }) => key.wallet === wallet),
      ({ left }) => left,
    )

  ownLease = (instance: string, key: ModelKey, sub: string | undefined): ModelLease | undefined =>
    this.leases.find(
      (l) =>
        l.instance === instance && l.key === key && l.sub === sub && l.day === this.day && l.state === 'open',
    )

  spentUnder = (under: (lease: ModelLease) => boolean): Nano =>
    sum(
      this.charges.filter(({ lease }) => under(lease)),
      ({ amount }) => amount,
    )

  spent(owner: ModelKey, inPeriod: (lease: ModelLease) => boolean = () => true): Nano {
    return this.spentUnder((lease) => lease.key.line.includes(owner.id) && inPeriod(lease))
  }

  /** Which leases count in the present month, week and day. */
  readonly periods = {
    monthlyCap: ({ month }: ModelLease): boolean => month === this.month,
    weeklyCap: ({ week }: ModelLease): boolean => week === this.week,
    dailyCap: ({ day }: ModelLease): boolean => day === this.day,
  }

  limits(key: ModelKey, sub: string | undefined): ModelLimit[] {
    const all: ModelLimit[] = [
      {
        name: 'wallet',
        room: this.free(key.wallet),
        under: (l) => l.key.wallet === key.wallet,
        spent: 0n,
        order: '0',
      },
    ]
    const capped = (it: Omit<ModelLimit, 'room' | 'order'>, scope: string, cap: Nano | undefined): void => {
      if (cap === undefined) return
      const left = sum(this.live().filter(it.under), (lease) => lease.left)
      all.push({ ...it, cap, room: cap - it.spent - left, order: `2${scope}` })
    }
    for (const owner of this.keys.filter(({ id }) => key.line.includes(id))) {
      const under = (lease: ModelLease): boolean => lease.key.line.includes(owner.id)
      const own = keyScope(owner.id)
      capped({ name: 'spend_cap_usd', under, owner, spent: this.spent(owner) }, own, owner.limits.spendCap)
      for (const [name, cap, period] of [
        ['monthly_cap_usd', 'monthlyCap', this.month],
        ['weekly_cap_usd', 'weeklyCap', weekOf(this.day)],
        ['daily_cap_usd', 'dailyCap', this.day],
      ] as const) {
        const inPeriod = this.periods[cap]
        const both = (lease: ModelLease): boolean => under(lease) && inPeriod(lease)
        const scope = keyScope(owner.id, period)
        capped({ name, under: both, owner, spent: this.spent(owner, inPeriod) }, scope, owner.limits[cap])
      }
      if (owner.limits.stopAt !== undefined) {
        all.push({
          name: 'stop_at_remaining_usd',
          room: this.free(key.wallet) - owner.limits.stopAt,
          under: (l) => l.key.wallet === key.wallet,
          owner,
          spent: 0n,
          order: owner === key ? '1' : `1${owner.id}`,
        })
      }
    }
    if (sub !== undefined) {
      const under = (lease: ModelLease): boolean => lease.sub === sub
      const budget = this.subs.find(({ id }) => id === sub)?.budget
      capped({ name: 'sub_wallet', under, spent: this.spentUnder(under) }, subScope(sub), budget)
    }
    const today = (lease: ModelLease): boolean => lease.key.wallet === key.wallet && lease.day === this.day
    capped(
      { name: 'daily_limit_usd', under: today, spent: this.spentUnder(today) },
      dayScope(key.wallet, this.day),
      this.dailyLimits.get(key.wallet),
    )
    return all.sort((a, b) => (a.order < b.order ? -1 : 1))
  }

  /** Asks for leases back, but this one, those with the most idle room first, until it comes to `amount`. */
  recall(limit: ModelLimit, own: ModelLease | undefined, amount: Nano): void {
    const idle = this.leases
      .filter((l) => l.state === 'open' && !l.recall && l !== own && limit.under(l) && this.idleOn(l) > 0n)
      .sort((a, b) => Number(this.idleOn(b) - this.idleOn(a)) || (a.id < b.id ? -1 : 1))
    let asked = 0n
    for (const lease of idle) {
      if (asked >= amount) return
      asked += this.idleOn(lease)
      lease.recall = true
    }
  }

  /** Whether calls of the key may name the sub-wallet: it is the organisation's or was made in the key's line. */
  serves = (sub: ModelSub, { id, line, parentId, wallet, sub: bound }: ModelKey): boolean => {
    if (sub.wallet !== wallet) return false
    if (bound !== undefined) return bound === sub.id
    if (sub.maker === undefined) return parentId === undefined
    const places = (ids: readonly string[]) => this.keys.filter((key) => ids.includes(key.id)).map(placeOf)
    const [maker] = places([sub.maker])
    return maker !== undefined && places([id, ...line]).includes(maker)
  }

  enabled = ({ reason, month }: ModelKey): boolean =>
    isEnabled(
      {
        deleted: false,
        ...(reason === undefined ? {} : { disabledReason: reason }),
        ...(month === undefined ? {} : { disabledMonth: month }),
      } as Parameters<typeof isEnabled>[0],
      this.month,
    )
}

/** Compares everything the store can be asked with the model, and asks it for its own audit. */
export const compare = async (model: Model, store: Store): Promise<void> => {
  const broken = await brokenLaws(store)
  deepEqual(broken, [], 'a law of the ledger is broken')
  const wallets = await store.wallets.list()
  for (const wallet of wallets) {
    const held = sum(
      model.calls.filter((call) => call.open && call.lease.key.wallet === wallet.id),
      ({ hold }) => hold,
    )
    equal(wallet.balance, model.posted.get(wallet.id) ?? 0n, `balance of ${wallet.id}`)
    equal(wallet.held, held, `held of ${wallet.id}`)
    equal(model.free(wallet.id) >= 0n, true, `${wallet.id} is overspent`)
  }
  await Promise.all(model.keys.map((key) => compareKey(model, store, key)))
  await compareReports(model, store)
  const listed = await store.subWallets.list({ walletId: 'wallet-a' })
  deepEqual(new Set(listed.map(({ id }) => id)), new Set(model.subs.map(({ id }) => id)))
  for (const { id, budget, spent, held } of listed) {
    equal(budget, model.subs.find((sub) => sub.id === id)?.budget, `budget of ${id}`)
    equal(
      spent,
      model.spentUnder(({ sub }) => sub === id),
      `spent of ${id}`,
    )
    const open = model.calls.filter((call) => call.open && call.lease.sub === id)
    equal(
      held,
      sum(open, ({ hold }) => hold),
      `held of ${id}`,
    )
  }
}

/** The report by sub-wallet, from the API's source and the console's, is what was charged under each. */
const compareReports = async (model: Model, store: Store): Promise<void> => {
  const expected = new Map<string, Nano>()
  for (const { lease, amount } of model.charges)
    expected.set(lease.sub ?? '', (expected.get(lease.sub ?? '') ?? 0n) + amount)
  const used = (rows: readonly (readonly [string, Nano])[]) =>
    new Map(rows.filter(([, cost]) => cost !== 0n).sort())
  const charged = used([...expected])
  const to = model.now + 2 * DAY_MS
  const all = { orgs: 'all', only: {}, most: 10_000 } as const
  const rows = await store.reports.usage({ ...all, from: 0, to, groupBy: ['sub_wallet'] })
  const bySub = rows.map((line) => [line.groups.sub_wallet ?? '', line.amount] as const)
  deepEqual(used(bySub), charged, 'use by sub-wallet')
  const groupBy = ['sub_wallet', 'payment_mode'] as const
  const lines = await store.reports.usage({ ...all, from: 0, to: to - (to % DAY_MS), groupBy })
  for (const { groups } of lines) equal(groups.payment_mode, 'wallet')
  deepEqual(
    used(lines.map((line) => [line.groups.sub_wallet ?? '', line.amount])),
    charged,
    'the same in the console',
  )
}

const compareKey = async (model: Model, store: Store, key: ModelKey): Promise<void> => {
  const spend = await store.keys.spend(key.id)
  equal(spend.spent, model.spent(key), `spent of ${key.id}`)
  const { monthlyCap, weeklyCap, dailyCap } = model.periods
  equal(spend.spentThisMonth, model.spent(key, monthlyCap), `spent this month of ${key.id}`)
  equal(spend.spentThisWeek, model.spent(key, weeklyCap), `spent this week of ${key.id}`)
  equal(spend.spentToday, model.spent(key, dailyCap), `spent today of ${key.id}`)
  const open = model.calls.filter((call) => call.open && call.lease.key.line.includes(key.id))
  equal(
    spend.held,
    sum(open, ({ hold }) => hold),
    `held of ${key.id}`,
  )
  const calls = model.charges.filter((charge) => charge.lease.key.line.includes(key.id))
  equal(
    spend.requests,
    calls.reduce((total, charge) => total + charge.calls, 0),
    `requests of ${key.id}`,
  )
  const real = await store.keys.key(key.id)
  equal(real?.disabledReason, key.reason, `reason of ${key.id}`)
  equal(real?.version, key.version, `version of ${key.id}`)
  deepEqual(real?.limits, key.limits, `limits of ${key.id}`)
  equal(real?.subWallet, key.sub, `sub-wallet of ${key.id}`)
}
