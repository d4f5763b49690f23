/** The store's money in plain TypeScript: lists that are summed each time, no counters, no locks, no SQL. */
import { deepEqual, equal } from 'node:assert/strict'
import type { Nano } from '../../src/core/money.ts'
import { type Month, monthOf } from '../../src/core/time.ts'
import type { Settle } from '../../src/ledger/words.ts'
import type { Store } from '../../src/store/port.ts'
import { type DisabledReason, isEnabled, type Limits } from '../../src/tenancy/key.ts'

export type ModelKey = {
  id: string
  wallet: string
  line: string[]
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
  /** Granted less used. */
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
type Charge = { key: ModelKey; month: Month; amount: Nano; calls: number }
export type Meter = {
  limit: string
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
  readonly keys: ModelKey[] = []
  readonly leases: ModelLease[] = []
  readonly calls: ModelCall[] = []
  readonly charges: Charge[] = []
  instances = ['i1', 'i2']

  get month(): Month {
    return monthOf(this.now)
  }

  move(wallet: string, amount: Nano): void {
    this.posted.set(wallet, (this.posted.get(wallet) ?? 0n) + amount)
  }

  charge(key: ModelKey, month: Month, amount: Nano): void {
    this.charges.push({ key, month, amount, calls: 1 })
    this.move(key.wallet, -amount)
  }

  refund(call: ModelCall, amount: Nano): void {
    call.refunded += amount
    this.charges.push({ key: call.lease.key, month: call.lease.month, amount: -amount, calls: 0 })
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

  ownLease = (instance: string, key: ModelKey): ModelLease | undefined =>
    this.leases.find(
      (l) => l.instance === instance && l.key === key && l.month === this.month && l.state === 'open',
    )

  spent(owner: ModelKey, month?: Month): Nano {
    const mine = this.charges.filter(
      ({ key, month: of }) => key.line.includes(owner.id) && (month ?? of) === of,
    )
    return sum(mine, ({ amount }) => amount)
  }

  meters(key: ModelKey): Meter[] {
    const all: Meter[] = [
      { limit: 'wallet', room: this.free(key.wallet), under: (l) => l.key.wallet === key.wallet, spent: 0n },
    ]
    const capped = (it: Omit<Meter, 'room'>, cap: Nano | undefined): void => {
      if (cap === undefined) return
      const left = sum(this.live().filter(it.under), (lease) => lease.left)
      all.push({ ...it, cap, room: cap - it.spent - left })
    }
    for (const owner of this.keys.filter(({ id }) => key.line.includes(id))) {
      const under = (lease: ModelLease): boolean => lease.key.line.includes(owner.id)
      const monthly = (lease: ModelLease): boolean => under(lease) && lease.month === this.month
      capped({ limit: 'spend_cap_usd', under, owner, spent: this.spent(owner) }, owner.limits.spendCap)
      capped(
        { limit: 'monthly_cap_usd', under: monthly, owner, spent: this.spent(owner, this.month) },
        owner.limits.monthlyCap,
      )
      if (owner.limits.stopAt !== undefined) {
        all.push({
          limit: 'stop_at_remaining_usd',
          room: this.free(key.wallet) - owner.limits.stopAt,
          under: (l) => l.key.wallet === key.wallet,
          spent: 0n,
        })
      }
    }
    const { sub } = key
    if (sub !== undefined) {
      const spent = sum(
        this.charges.filter((one) => one.key.sub === sub),
        ({ amount }) => amount,
      )
      capped({ limit: 'sub_wallet', under: (l) => l.key.sub === sub, spent }, this.subs.get(sub))
    }
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
  const broken = (await store.audit()).filter(({ ok }) => !ok)
  deepEqual(broken, [], 'a law of the ledger is broken')
  const wallets = await store.wallets()
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
}

const compareKey = async (model: Model, store: Store, key: ModelKey): Promise<void> => {
  const spend = await store.spend(key.id)
  equal(spend.spent, model.spent(key), `spent of ${key.id}`)
  equal(spend.spentThisMonth, model.spent(key, model.month), `spent this month of ${key.id}`)
  const open = model.calls.filter((call) => call.open && call.lease.key.line.includes(key.id))
  equal(
    spend.held,
    sum(open, ({ hold }) => hold),
    `held of ${key.id}`,
  )
  const calls = model.charges.filter((charge) => charge.key.line.includes(key.id))
  equal(
    spend.requests,
    calls.reduce((total, charge) => total + charge.calls, 0),
    `requests of ${key.id}`,
  )
  const real = await store.key(key.id)
  equal(real?.disabledReason, key.reason, `reason of ${key.id}`)
  equal(real?.version, key.version, `version of ${key.id}`)
  deepEqual(real?.limits, key.limits, `limits of ${key.id}`)
}
