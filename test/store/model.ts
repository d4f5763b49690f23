/** The store's money in plain TypeScript: lists that are summed each time, no counters, no locks, no SQL. */

import { deepEqual, equal } from 'node:assert/strict'
import type { Nano } from '../../src/core/money.ts'
import { type Day, dayOf, type Month, monthOf } from '../../src/core/time.ts'
import type { Settle } from '../../src/ledger/types.ts'
import type { Store } from '../../src/store/port.ts'
import { type DisabledReason, isEnabled, type Limits } from '../../src/tenancy/key.ts'
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
type Charge = { lease: ModelLease; amount: Nano; calls: number }
export type ModelLimit = {
  name: string
  room: Nano
  under: (lease: ModelLease) => boolean
  owner?: ModelKey
  cap?: Nano
  spent: Nano
}

const sum = <T>(list: Iterable<T>, of: (one: T) => Nano): Nano =>
  [...list].reduce((total, one) => total + of(one), 0n)

export class Model {
  now = Date.UTC(2026, 9, 30, 12)
  readonly wallets = ['wallet-a', 'wallet-b']
  readonly posted = new Map<string, Nano>()
  readonly subs = new Map<string, Nano>()
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

  spent(owner: ModelKey, month?: Month): Nano {
    return this.spentUnder(({ key, month: of }) => key.line.includes(owner.id) && (month ?? of) === of)
  }

  limits(key: ModelKey, sub: string | undefined): ModelLimit[] {
    const all: ModelLimit[] = [
      { name: 'wallet', room: this.free(key.wallet), under: (l) => l.key.wallet === key.wallet, spent: 0n },
    ]
    const capped = (it: Omit<ModelLimit, 'room'>, cap: Nano | undefined): void => {
      if (cap === undefined) return
      const left = sum(this.live().filter(it.under), (lease) => lease.left)
      all.push({ ...it, cap, room: cap - it.spent - left })
    }
    for (const owner of this.keys.filter(({ id }) => key.line.includes(id))) {
      const under = (lease: ModelLease): boolean => lease.key.line.includes(owner.id)
      const monthly = (lease: ModelLease): boolean => under(lease) && lease.month === this.month
      capped({ name: 'spend_cap_usd', under, owner, spent: this.spent(owner) }, owner.limits.spendCap)
      capped(
        { name: 'monthly_cap_usd', under: monthly, owner, spent: this.spent(owner, this.month) },
        owner.limits.monthlyCap,
      )
      if (owner.limits.stopAt !== undefined) {
        all.push({
          name: 'stop_at_remaining_usd',
          room: this.free(key.wallet) - owner.limits.stopAt,
          under: (l) => l.key.wallet === key.wallet,
          owner,
          spent: 0n,
        })
      }
    }
    if (sub !== undefined) {
      const under = (lease: ModelLease): boolean => lease.sub === sub
      capped({ name: 'sub_wallet', under, spent: this.spentUnder(under) }, this.subs.get(sub))
    }
    const today = (lease: ModelLease): boolean => lease.key.wallet === key.wallet && lease.day === this.day
    capped(
      { name: 'daily_limit_usd', under: today, spent: this.spentUnder(today) },
      this.dailyLimits.get(key.wallet),
    )
    return all
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
  const owner = { id: 'plain', walletId: 'wallet-a', ancestors: [] }
  for (const { id, budget, spent, held } of await store.subWallets.list(owner)) {
    equal(budget, model.subs.get(id), `budget of ${id}`)
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

const compareKey = async (model: Model, store: Store, key: ModelKey): Promise<void> => {
  const spend = await store.keys.spend(key.id)
  equal(spend.spent, model.spent(key), `spent of ${key.id}`)
  equal(spend.spentThisMonth, model.spent(key, model.month), `spent this month of ${key.id}`)
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
}
