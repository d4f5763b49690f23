/** What may happen to a store, as random commands; each says what it expects of the store and tells the model. */
import { deepEqual, equal, ok, rejects } from 'node:assert/strict'
import type { Nano } from '../../src/core/money.ts'
import { nextMonthStart } from '../../src/core/time.ts'
import type { FlushBatch, GrantAsk } from '../../src/ledger/words.ts'
import { Overdrawn, ReplayConflict, type Store } from '../../src/store/port.ts'
import { compare, type Meter, type Model, type ModelCall, type ModelKey, type ModelLease } from './model.ts'

const CENT = 10_000_000n
/** Closed leases are kept this long; a call that ends later still is written off. */
const WEEK_MS = 7 * 24 * 3_600_000
const least = (a: Nano, b: Nano): Nano => (a < b ? a : b)
const most = (a: Nano, b: Nano): Nano => (a > b ? a : b)

/** One run: a store, the model beside it, and the numbers that choose. */
export type World = {
  model: Model
  store: Store
  reopen: () => Promise<Store>
  n: number
  last?: FlushBatch
  seen: Map<string, number>
}
export type Numbers = { a: number; b: number; c: number }
type Command = (world: World, numbers: Numbers) => Promise<void>

const pick = <T>(list: readonly T[], number: number): T | undefined => list[number % Math.max(list.length, 1)]
const saw = (world: World, what: string): void => void world.seen.set(what, (world.seen.get(what) ?? 0) + 1)

const batchOf = (instance: string, part: Partial<FlushBatch>): FlushBatch => ({
  instance,
  intents: [],
  progress: [],
  settles: [],
  voids: [],
  ...part,
})

const flush = (world: World, batch: FlushBatch) => {
  world.last = batch
  return world.store.flush(batch)
}

const topUp: Command = async ({ model, store, n }, { a, b }) => {
  const wallet = pick(model.wallets, a) ?? ''
  const transfer = {
    kind: 'topup',
    ref: `p${n}`,
    debit: 'cash',
    credit: wallet,
    amount: BigInt(b % 60) * CENT,
  } as const
  equal(await store.post(transfer), 'posted')
  equal(await store.post(transfer), 'replayed')
  await rejects(store.post({ ...transfer, amount: transfer.amount + 1n }), ReplayConflict)
  model.move(wallet, transfer.amount)
}

const adjust: Command = async (world, { a, b }) => {
  const { model, store, n } = world
  const wallet = pick(model.wallets, a) ?? ''
  const amount = BigInt(b % 40) * CENT
  const posting = store.post({ kind: 'adjust', ref: `a${n}`, debit: wallet, credit: 'revenue', amount })
  if (amount > model.free(wallet)) {
    saw(world, 'overdrawn')
    return rejects(posting, Overdrawn)
  }
  await posting
  model.move(wallet, -amount)
}

const disableExhausted = (world: World, key: ModelKey, hopeless: readonly Meter[], useful: Nano): void => {
  const { model } = world
  for (const owner of model.keys) {
    const caps = hopeless.filter(
      (meter) => meter.owner === owner && meter.cap !== undefined && meter.cap - meter.spent < useful,
    )
    if (caps.length === 0 || !model.enabled(owner)) continue
    saw(world, owner === key ? 'key disabled by its cap' : 'maker disabled by its cap')
    owner.reason = caps.some(({ limit }) => limit === 'spend_cap_usd') ? 'spend_cap' : 'monthly_cap'
    owner.version += 1
    if (owner.reason === 'monthly_cap') owner.month = model.month
    else delete owner.month
  }
}

const expectRefusal = (
  world: World,
  it: { key: ModelKey; ask: GrantAsk; own: Nano; short: Meter[]; outcome: string },
): void => {
  const { model } = world
  const { key, ask, own, short, outcome } = it
  const needed = ({ limit }: Meter): Nano => (limit === 'wallet' ? most(ask.need, CENT - own) : ask.need)
  const others = model.leases.filter((l) => l.state === 'open' && l !== model.ownLease(ask.instance, key))
  const idle = (meter: Meter): Nano =>
    others.filter(meter.under).reduce((total, l) => total + model.idleOn(l), 0n)
  const hopeless = short.filter((meter) => meter.room + idle(meter) < needed(meter))
  if (hopeless.length === 0) {
    equal(outcome, 'recall')
    for (const lease of others)
      if (model.idleOn(lease) > 0n && short.some((meter) => meter.under(lease))) lease.recall = true
    return
  }
  ok(outcome === 'cap' || outcome === 'insufficient', `${outcome} although money is short`)
  disableExhausted(world, key, hopeless, ask.useful)
}

const grant: Command = async (world, { a, b, c }) => {
  const { model, store, n } = world
  const key = pick(model.keys, a)
  const instance = pick(model.instances, b)
  if (key === undefined || instance === undefined) return
  const before = model.ownLease(instance, key)
  const need = (BigInt(c % 41) * CENT) / 3n
  const ask: GrantAsk = {
    instance,
    keyId: key.id,
    leaseId: before?.id ?? `l${n}`,
    need,
    want: need * BigInt(1 + (b % 9)) + CENT,
    useful: need / BigInt(1 + (c % 5)),
    ttlMs: 10_000,
  }
  const wasEnabled = model.enabled(key)
  const result = await store.grant(ask)
  saw(world, `grant ${result.outcome}`)
  if (!wasEnabled) return equal(result.outcome, 'disabled')
  if (key.reason !== undefined) {
    saw(world, 'monthly block lifted')
    key.version += 1
    delete key.reason
    delete key.month
  }
  const own = before === undefined ? 0n : model.idleOn(before)
  const meters = model.meters(key)
  const short =
    need === 0n ? [] : meters.filter((m) => m.room < (m.limit === 'wallet' ? most(need, CENT - own) : need))
  if (result.outcome !== 'granted') {
    ok(short.length > 0, `refused with ${result.outcome} although everything fits`)
    if (result.outcome === 'recall' || result.outcome === 'cap' || result.outcome === 'insufficient') {
      equal(
        result.available,
        most(
          0n,
          (meters.find(
            ({ limit, room }) => limit === result.limit && most(0n, room + own) === result.available,
          )?.room ?? -1n) + own,
        ),
      )
    }
    const version = key.version
    expectRefusal(world, { key, ask, own, short, outcome: result.outcome })
    return equal(result.keyVersion, key.version === version ? undefined : key.version)
  }
  equal(short.length, 0, `granted although ${short.map(({ limit }) => limit)} is short`)
  const available = meters.map(({ room }) => room).reduce(least)
  ok(
    result.grown >= need && result.grown <= most(need, most(available, 0n) / 2n),
    `grown ${result.grown} of ${available}`,
  )
  equal(result.tight, available < 5n * CENT || available < 20n * need)
  equal(result.remaining, model.posted.get(key.wallet) ?? 0n)
  const lease = before ?? {
    id: result.leaseId,
    instance,
    key,
    month: model.month,
    left: 0n,
    expires: 0,
    state: 'open',
    recall: false,
    pruned: false,
  }
  if (before === undefined) model.leases.push(lease)
  equal(result.leaseId, lease.id)
  lease.left += result.grown
  lease.expires = Math.min(model.now + 10_000, nextMonthStart(model.now))
  equal(result.lifeMs, lease.expires - model.now)
}

const mine = ({ model }: World, lease: ModelLease): boolean =>
  lease.state === 'open' && model.instances.includes(lease.instance)

const open: Command = async (world, { a, b }) => {
  const { model, n } = world
  const lease = pick(
    model.leases.filter((one) => mine(world, one)),
    a,
  )
  if (lease === undefined) return
  const hold = (model.idleOn(lease) * BigInt(b % 101)) / 100n
  const intent = { callId: `c${n}`, leaseId: lease.id, hold }
  deepEqual([...(await flush(world, batchOf(lease.instance, { intents: [intent] }))).opened], [intent.callId])
  model.calls.push({ id: intent.callId, lease, hold, spent: 0n, open: true, refunded: 0n })
}

const openFenced: Command = async (world, { a }) => {
  const { model, n } = world
  const lease =
    pick(
      model.leases.filter(({ state }) => state !== 'open'),
      a,
    ) ?? pick(model.leases, a)
  if (lease === undefined) return
  const instance = lease.state === 'open' ? 'stranger' : lease.instance
  const intent = { callId: `c${n}`, leaseId: lease.id, hold: 0n }
  equal((await flush(world, batchOf(instance, { intents: [intent] }))).opened.size, 0)
  saw(world, `fenced: ${lease.state}`)
}

const running = ({ model }: World, number: number): ModelCall | undefined =>
  pick(
    model.calls.filter((call) => call.open),
    number,
  )

const extend: Command = async (world, { a, b, c }) => {
  const { model } = world
  const call = running(world, a)
  if (call === undefined) return
  const { lease } = call
  const hold =
    call.hold + (lease.state === 'open' ? (model.idleOn(lease) * BigInt(b % 101)) / 100n : BigInt(b % 2))
  const spent = (hold * BigInt(c % 120)) / 100n
  const may = lease.state === 'open' || hold === call.hold
  const { extended } = await flush(
    world,
    batchOf(lease.instance, { progress: [{ callId: call.id, hold, spent }] }),
  )
  equal(extended.has(call.id), may)
  if (!may) return saw(world, 'extension fenced')
  call.hold = hold
  call.spent = most(call.spent, spent)
}

const settleOf = (call: ModelCall, charge: Nano) => ({
  callId: call.id,
  leaseId: call.lease.id,
  walletId: call.lease.key.wallet,
  charge,
  excess: charge % 3n,
  detail: {
    keyId: call.lease.key.id,
    model: 'local/echo',
    vendor: 'local',
    usage: { input: 3, output: 4 },
    estimated: false,
    priceVersion: 'test',
    startedAt: 0,
    tookMs: 1,
    firstByteMs: 1,
    ended: 'ok',
  },
})

const settle: Command = async (world, { a, b }) => {
  const { model } = world
  const call = running(world, a)
  if (call === undefined) return
  if (call.lease.state === 'quarantined') saw(world, 'settled in quarantine')
  const charge = (call.hold * BigInt(b % 101)) / 100n
  call.settle = settleOf(call, charge)
  // Whatever is asked, no more than the hold is charged.
  if (charge === call.hold) call.settle = settleOf(call, charge + 7n)
  call.open = false
  call.charged = charge
  call.lease.left -= charge
  model.charge(call.lease.key, call.lease.month, charge)
  const { settled } = await flush(world, batchOf(call.lease.instance, { settles: [call.settle] }))
  deepEqual([...settled], [[call.id, model.posted.get(call.lease.key.wallet)]])
}

const settleTwice: Command = async (world, { a, b }) => {
  const call = pick(
    world.model.calls.filter(({ charged }) => charged !== undefined),
    a,
  )
  if (call === undefined) return
  const again = settleOf(call, (call.charged ?? 0n) + BigInt(b % 5))
  ok((await flush(world, batchOf(call.lease.instance, { settles: [again] }))).settled.has(call.id))
  const intent = { callId: call.id, leaseId: call.lease.id, hold: 0n }
  if (mine(world, call.lease))
    ok((await flush(world, batchOf(call.lease.instance, { intents: [intent] }))).opened.has(call.id))
}

const settleLate: Command = async (world, { a, b }) => {
  const { model } = world
  const call = pick(
    model.calls.filter(
      ({ open, charged, lease }) => !open && charged === undefined && lease.state === 'closed',
    ),
    a,
  )
  if (call === undefined) return
  const charge = BigInt(b % 40) * CENT
  const caps = model.meters(call.lease.key).filter(({ limit }) => limit !== 'stop_at_remaining_usd')
  // The model's meters are those of this month; a late call counts in its own.
  if (call.lease.month !== model.month) return
  const fits = !call.lease.pruned && caps.every(({ room }) => room >= charge)
  saw(world, fits ? 'late settlement charged' : 'late settlement written off')
  const { settled } = await flush(world, batchOf(call.lease.instance, { settles: [settleOf(call, charge)] }))
  if (fits) model.charge(call.lease.key, call.lease.month, charge)
  call.charged = fits ? charge : 0n
  deepEqual([...settled], [[call.id, model.posted.get(call.lease.key.wallet)]])
}

const voids: Command = async (world, { a }) => {
  const call = running(world, a)
  if (call === undefined) return
  await flush(world, batchOf('stranger', { voids: [call.id] }))
  await compare(world.model, world.store)
  await flush(world, batchOf(call.lease.instance, { voids: [call.id] }))
  call.open = false
}

const several: Command = async (world, { a, b }) => {
  const { model, n } = world
  const lease = pick(
    model.leases.filter((one) => mine(world, one)),
    a,
  )
  if (lease === undefined) return
  const hold = model.idleOn(lease) / 3n
  const call = (part: string): ModelCall => ({
    id: `c${n}${part}`,
    lease,
    hold,
    spent: 0n,
    open: false,
    refunded: 0n,
  })
  const [kept, charged, dropped] = [call('k'), call('s'), call('v')]
  const intents = [kept, charged, dropped].map(({ id }) => ({ callId: id, leaseId: lease.id, hold }))
  const charge = (hold * BigInt(b % 101)) / 100n
  const other = model.calls.find(({ open, lease: on }) => open && on.instance === lease.instance)
  const result = await flush(
    world,
    batchOf(lease.instance, {
      intents,
      settles: [settleOf(charged, charge)],
      voids: [dropped.id],
      progress: other === undefined ? [] : [{ callId: other.id, hold: other.hold, spent: other.spent }],
    }),
  )
  equal(result.opened.size, 3)
  equal(result.extended.size, other === undefined ? 0 : 1)
  kept.open = true
  charged.charged = charge
  lease.left -= charge
  model.calls.push(kept, charged, dropped)
  model.charge(lease.key, lease.month, charge)
  equal(result.settled.get(charged.id), model.posted.get(lease.key.wallet))
}

/** A lost answer: the batch is sent again, word for word. */
const resend: Command = async ({ store, last, model }) => {
  if (last === undefined) return
  const { opened, settled } = await store.flush(last)
  for (const { callId } of last.settles)
    ok(settled.has(callId) || model.calls.every(({ id }) => id !== callId))
  for (const { callId } of last.intents) {
    const call = model.calls.find(({ id }) => id === callId)
    // A void call may be opened by a repeat, and is then void again by the same batch.
    if (call?.open === true || call?.charged !== undefined) ok(opened.has(callId))
    else if (opened.has(callId)) await store.flush(batchOf(last.instance, { voids: [callId] }))
  }
}

const giveBack: Command = async (world, { a, b }) => {
  const { model, store } = world
  const lease = pick(
    model.leases.filter((one) => mine(world, one)),
    a,
  )
  if (lease === undefined) return
  const back = (model.idleOn(lease) * BigInt(b % 101)) / 100n
  await store.giveBack(lease.id, back)
  lease.left -= back
  lease.recall = false
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
  equal(await store.post(transfer), 'posted')
  equal(await store.post(transfer), 'replayed')
  model.refund(call, amount)
  await rejects(store.post({ ...transfer, ref: `${call.id}:x`, amount: call.charged - call.refunded + 1n }))
}

const change: Command = async ({ model, store }, { a, b, c }) => {
  const key = pick(model.keys, a)
  if (key === undefined) return
  const value = c % 4 === 0 ? null : BigInt(c % 50) * CENT
  const name = pick(['spendCap', 'monthlyCap', 'stopAt'] as const, b) ?? 'stopAt'
  const old = key.limits[name]
  await store.changeKey(key.id, { [name]: value, byCreator: true })
  const { [name]: _old, ...rest } = key.limits
  key.limits = value === null ? rest : { ...rest, [name]: value }
  key.version += 1
  const cap = { spendCap: 'spend_cap', monthlyCap: 'monthly_cap', stopAt: undefined }[name]
  if (key.reason === cap && old !== undefined && (value === null || value > old)) {
    delete key.reason
    delete key.month
  }
}

const toggle: Command = async ({ model, store }, { a, b }) => {
  const key = pick(model.keys, a)
  if (key === undefined) return
  const reason = pick(['self', 'operator', null] as const, b) ?? null
  const byCreator = b % 2 === 0
  const result = await store.changeKey(key.id, { disabledReason: reason, byCreator })
  key.version += 1
  if (key.reason === 'operator' && !byCreator) return equal(result?.key.disabledReason, 'operator')
  delete key.month
  if (reason === null) delete key.reason
  else key.reason = reason
}

const tick: Command = async ({ model }, { a, b }) => {
  // Now and then to just before or just after a month's end.
  model.now = a % 8 === 0 ? nextMonthStart(model.now) + (b % 9_000) - 6_000 : model.now + (b % 7) * 1_000
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
  for (const lease of model.leases.filter(
    (l) => l.state === 'open' && l.expires + bounds.graceMs < model.now,
  )) {
    const calls = model.calls.filter((call) => call.open && call.lease === lease)
    lease.left = model.heldOn(lease)
    lease.state = calls.length === 0 ? 'closed' : 'quarantined'
    done.quarantined += 1
    if (calls.length === 0) done.closed += 1
  }
  for (const lease of model.leases.filter(
    (l) => l.state === 'quarantined' && l.expires + bounds.longestCallMs < model.now,
  )) {
    for (const call of model.calls.filter((one) => one.open && one.lease === lease)) {
      call.open = false
      const charge = least(call.spent, call.hold)
      if (charge === 0n) continue
      call.charged = charge
      model.charge(lease.key, lease.month, charge)
      done.recovered += 1
      saw(world, 'orphan charged')
    }
    lease.left = 0n
    lease.state = 'closed'
    done.closed += 1
  }
  for (const lease of model.leases)
    lease.pruned ||= lease.state === 'closed' && lease.expires + WEEK_MS < model.now
  deepEqual(await store.reap(bounds), done)
}

const recalls: Command = async ({ model, store }, { a }) => {
  const instance = pick(model.instances, a) ?? ''
  const { recalled } = await store.beat(instance, undefined)
  const expected = model.leases.filter((l) => l.state === 'open' && l.recall && l.instance === instance)
  deepEqual([...recalled].sort(), expected.map(({ id }) => id).sort())
}

const reopen: Command = async (world) => {
  world.store = await world.reopen()
}

export const commands = {
  topUp,
  adjust,
  grant,
  open,
  openFenced,
  extend,
  settle,
  settleTwice,
  settleLate,
  voids,
  several,
  resend,
  giveBack,
  refund,
  change,
  toggle,
  tick,
  crash,
  reap,
  recalls,
  reopen,
} as const satisfies Record<string, Command>
