/** What may happen to a store, as random commands; each knows what the store must answer and changes the model. */

import { deepEqual, equal, rejects } from 'node:assert/strict'
import { nextDayStart } from '../../src/core/time.ts'
import { Overdrawn, ReplayConflict } from '../../src/store/faults.ts'
import { byTest } from '../by-test.ts'
import {
  extend,
  moves,
  open,
  openFenced,
  resend,
  settle,
  settleLate,
  settleTwice,
  several,
  voids,
} from './call-commands.ts'
import { lend } from './lend-command.ts'
import type { Model, ModelLease } from './model.ts'
import { CENT, type Command, least, mine, newKeyOf, pick, saw } from './world.ts'

/** Each rotation adds a key; a history needs a few. */
const MOST_KEYS = 10
/** Closed leases are kept this long; a call that ends even later is written off. */
const WEEK_MS = 7 * 24 * 3_600_000

const topUp: Command = async ({ model, store, n }, { a, b }) => {
  const wallet = pick(model.wallets, a) ?? ''
  const transfer = {
    kind: 'topup',
    ref: `p${n}`,
    debit: 'cash',
    credit: wallet,
    amount: BigInt(b % 60) * CENT,
  } as const
  equal(await store.ledger.post(transfer), 'posted')
  equal(await store.ledger.post(transfer), 'replayed')
  await rejects(store.ledger.post({ ...transfer, amount: transfer.amount + 1n }), ReplayConflict)
  model.move(wallet, transfer.amount)
}

const adjust: Command = async (world, { a, b }) => {
  const { model, store, n } = world
  const wallet = pick(model.wallets, a) ?? ''
  const amount = BigInt(b % 40) * CENT
  const posting = store.ledger.post({
    kind: 'adjust',
    ref: `a${n}`,
    debit: wallet,
    credit: 'revenue',
    amount,
  })
  if (amount > model.free(wallet)) {
    saw(world, 'overdrawn')
    return rejects(posting, Overdrawn)
  }
  await posting
  model.move(wallet, -amount)
}

const giveBack: Command = async (world, { a, b }) => {
  const { model, store } = world
  const lease = pick(
    model.leases.filter((one) => mine(world, one)),
    a,
  )
  if (lease === undefined) return
  const back = (model.idleOn(lease) * BigInt(b % 101)) / 100n
  await store.ledger.giveBack(lease.id, back)
  lease.left -= back
  lease.recall = false
}

/** An instance gives up some of its leases, and one that is not its own. */
const release: Command = async (world, { a, b }) => {
  const { model, store } = world
  const instance = pick(model.instances, a) ?? ''
  const own = model.leases.filter((l) => l.instance === instance && (b % 2 === 0 || l.state === 'open'))
  const named = [...own.slice(b % 3), ...model.leases.slice(0, 1)]
  for (const lease of named.filter((l) => l.instance === instance)) fence(model, lease)
  if (own.length > 0) saw(world, 'given up')
  await store.ledger.release(
    instance,
    named.map(({ id }) => id),
  )
}

const refund: Command = async (world, { a, b }) => {
  const { model, store, n } = world
  const call = pick(
    model.calls.filter(({ charged }) => charged !== undefined && charged > 0n),
    a,
  )
  if (call === undefined || call.charged === undefined) return
  const amount = ((call.charged - call.refunded) * BigInt(b % 101)) / 100n
  const to = call.lease.key.wallet
  const transfer = { kind: 'refund', ref: `${call.id}:${n}`, debit: 'revenue', credit: to, amount } as const
  equal(await store.ledger.post(transfer), 'posted')
  equal(await store.ledger.post(transfer), 'replayed')
  model.refund(call, amount)
  await rejects(
    store.ledger.post({ ...transfer, ref: `${call.id}:x`, amount: call.charged - call.refunded + 1n }),
  )
}

const change: Command = async ({ model, store }, { a, b, c }) => {
  const key = pick(model.keys, a)
  if (key === undefined) return
  const value = c % 4 === 0 ? null : BigInt(c % 50) * CENT
  const name = pick(['spendCap', 'monthlyCap', 'weeklyCap', 'dailyCap', 'stopAt'] as const, b) ?? 'stopAt'
  await store.keys.changeKey(key.id, { [name]: value, byCreator: true }, byTest)
  const disables: Partial<Record<typeof name, string>> = { spendCap: 'spend_cap', monthlyCap: 'monthly_cap' }
  const cap = disables[name]
  for (const one of [key, ...key.replaced]) {
    const { [name]: old, ...rest } = one.limits
    one.limits = value === null ? rest : { ...rest, [name]: value }
    one.version += 1
    if (cap !== undefined && one.reason === cap && old !== undefined && (value === null || value > old)) {
      delete one.reason
      delete one.month
    }
  }
}

/** A key takes the place of the newest of its chain, above that one and all below it, in the state of the named one. */
const rotate: Command = async (world, { a }) => {
  const { model, store, n } = world
  const named = pick(model.keys, a)
  if (named === undefined || model.keys.length >= MOST_KEYS) return
  const newest = model.keys.findLast((key) => key === named || key.replaced.includes(named)) ?? named
  if (newest !== named) saw(world, 'an old key rotated')
  const { wallet, limits, parentId, sub, reason, month } = named
  const parent = model.keys.find(({ id }) => id === parentId)
  const id = `rotated-${n}`
  await store.keys.createKey(
    { ...newKeyOf({ id, wallet, limits, parentId, sub }), replaces: named.id },
    byTest,
  )
  for (const key of model.keys.filter(({ line }) => line.includes(newest.id))) {
    key.line.push(id)
    key.version += 1
  }
  model.keys.push({
    id,
    wallet,
    limits,
    version: 1,
    line: [id, ...(parent?.line ?? [])],
    replaced: [...newest.replaced, newest],
    ...(reason === undefined ? {} : { reason }),
    ...(month === undefined ? {} : { month }),
    ...(parentId === undefined ? {} : { parentId }),
    ...(sub === undefined ? {} : { sub }),
  })
}

/** Another ceiling of a sub-wallet, or another daily limit of a wallet. */
const limit: Command = async ({ model, store }, { a, b }) => {
  const amount = BigInt(1 + (b % 30)) * CENT
  if (a % 2 === 0) {
    const sub = pick(model.subs, a >> 1)
    if (sub === undefined) return
    const changed = await store.subWallets.changeSubWallet(
      { walletId: sub.wallet },
      sub.id,
      { budget: amount },
      byTest,
    )
    equal(changed?.sub.budget, amount)
    sub.budget = amount
    return
  }
  const wallet = pick(model.wallets, a >> 1) ?? ''
  const after = b % 4 === 0 ? undefined : amount
  const { known } = await store.wallets.changeWalletRules(wallet, { dailyLimit: after ?? null }, byTest)
  equal(known.rules.dailyLimit, after)
  if (after === undefined) model.dailyLimits.delete(wallet)
  else model.dailyLimits.set(wallet, after)
}

/** Binds a key and all below it to a sub-wallet of its wallet, or releases them. What binds a key above it stays. */
const bind: Command = async (world, { a, b }) => {
  const { model, store } = world
  const key = pick(model.keys, a)
  const of = model.subs.filter(({ wallet }) => wallet === key?.wallet)
  if (key === undefined || of.length === 0) return
  const wish = b % 2 === 0 ? undefined : pick(of, b)?.id
  const above = model.keys.find((one) => one !== key && key.line.includes(one.id) && one.sub !== undefined)
  const [before, now] = [key.sub, above?.sub ?? wish]
  const changed = await store.keys.changeKey(key.id, { subWallet: wish ?? null, byCreator: true }, byTest)
  equal(changed?.key.subWallet, now)
  key.version += 1
  if (before === now) return
  saw(world, now === undefined ? 'released' : 'bound')
  const below = model.keys.filter((one) => one !== key && one.line.includes(key.id))
  const follow = below.filter(({ sub }) => (now === undefined ? sub === before : sub !== now))
  for (const one of follow) one.version += 1
  for (const one of [key, ...follow]) {
    if (now === undefined) delete one.sub
    else one.sub = now
    for (const lease of model.leases.filter((l) => l.key === one)) fence(model, lease)
  }
}

const toggle: Command = async ({ model, store }, { a, b }) => {
  const key = pick(model.keys, a)
  if (key === undefined) return
  const reason = pick(['self', 'operator', null] as const, b) ?? null
  const byCreator = b % 2 === 0
  const result = await store.keys.changeKey(key.id, { disabledReason: reason, byCreator }, byTest)
  key.version += 1
  if (key.reason === 'operator' && !byCreator) return equal(result?.key.disabledReason, 'operator')
  delete key.month
  if (reason === null) delete key.reason
  else key.reason = reason
  if (key.reason !== undefined)
    for (const lease of model.leases.filter((l) => l.key === key)) fence(model, lease)
}

/** Frees what no open call holds; a lease without open calls is closed. */
const fence = (model: Model, lease: ModelLease): void => {
  if (lease.state !== 'open') return
  lease.left = model.heldOn(lease)
  lease.recall = false
  lease.expires = Math.min(lease.expires, model.now)
  lease.state = model.calls.some((call) => call.open && call.lease === lease) ? 'quarantined' : 'closed'
}

const tick: Command = async ({ model }, { a, b }) => {
  // Now and then to just before or just after the end of a day or a month.
  const month = Date.UTC(new Date(model.now).getUTCFullYear(), new Date(model.now).getUTCMonth() + 1, 1)
  const end = a % 16 === 0 ? month : nextDayStart(model.now)
  model.now = a % 8 === 0 ? end + (b % 9_000) - 6_000 : model.now + (b % 7) * 1_000
}

const crash: Command = async ({ model, n }, { a }) => {
  const gone = pick(model.instances, a)
  model.instances = [...model.instances.filter((one) => one !== gone), `i${n}`]
}

/** Recovery, as the model does it: fence and free, then charge the checkpoints and close. */
const reap: Command = async (world, { a }) => {
  const { model, store } = world
  const bounds = { graceMs: 500, longestCallMs: a % 2 === 0 ? 4_000 : 20_000 }
  const done = { quarantined: 0, closed: 0, recovered: 0 }
  // An instance that beat once and fell silent is recovered at once; after an hour nobody knows it any more.
  const fellSilent = (instance: string): boolean =>
    (model.beats.get(instance) ?? model.now) < model.now - 3_000
  for (const lease of model.leases.filter(
    (l) => l.state === 'open' && (l.expires + bounds.graceMs < model.now || fellSilent(l.instance)),
  )) {
    fence(model, lease)
    done.quarantined += 1
    if (lease.state !== 'quarantined') done.closed += 1
  }
  const idle = (lease: ModelLease): boolean => !model.calls.some((call) => call.open && call.lease === lease)
  for (const lease of model.leases.filter(
    (l) => l.state === 'quarantined' && (l.expires + bounds.longestCallMs < model.now || idle(l)),
  )) {
    for (const call of model.calls.filter((one) => one.open && one.lease === lease)) {
      call.open = false
      const charge = least(call.spent, call.hold)
      if (charge === 0n) continue
      call.charged = charge
      model.charge(lease, charge)
      done.recovered += 1
      saw(world, 'orphan charged')
    }
    lease.left = 0n
    lease.state = 'closed'
    done.closed += 1
  }
  for (const [instance, at] of model.beats) if (at < model.now - 3_600_000) model.beats.delete(instance)
  for (const lease of model.leases)
    lease.pruned ||= lease.state === 'closed' && lease.expires + WEEK_MS < model.now
  deepEqual(await store.ledger.reap(bounds), done)
}

const renew: Command = async (world, { a, b }) => {
  const { model, store } = world
  const instance = pick(model.instances, a) ?? ''
  const leases = model.leases.filter((l) => l.instance === instance && (b % 3 > 0 || l.state === 'open'))
  const living = leases.filter((l) => l.state === 'open' && l.expires > model.now)
  for (const lease of living) lease.expires = Math.min(model.now + 10_000, nextDayStart(model.now))
  const renewed = await store.ledger.renew(
    instance,
    leases.map(({ id }) => id),
    10_000,
  )
  deepEqual(
    new Map(renewed.map(({ leaseId, lifeMs }) => [leaseId, lifeMs])),
    new Map(living.map(({ id, expires }) => [id, expires - model.now])),
  )
  if (living.length > 0) saw(world, 'renewed')
}

const recalls: Command = async ({ model, store }, { a }) => {
  const instance = pick(model.instances, a) ?? ''
  const { recalled } = await store.instances.beat(instance, undefined)
  model.beats.set(instance, model.now)
  const expected = model.leases.filter((l) => l.state === 'open' && l.recall && l.instance === instance)
  deepEqual([...recalled].sort(), expected.map(({ id }) => id).sort())
}

const reopen: Command = async (world) => {
  world.store = await world.reopen()
}

export const commands = {
  topUp,
  adjust,
  lend,
  open,
  openFenced,
  extend,
  moves,
  settle,
  settleTwice,
  settleLate,
  voids,
  several,
  resend,
  giveBack,
  release,
  refund,
  change,
  rotate,
  limit,
  bind,
  toggle,
  tick,
  crash,
  reap,
  renew,
  recalls,
  reopen,
} as const satisfies Record<string, Command>
