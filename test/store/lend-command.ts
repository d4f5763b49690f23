/** The command that asks for money; the model's sums give the answer that the store must give. */
import { equal, ok } from 'node:assert/strict'
import type { Nano } from '../../src/core/money.ts'
import { nextDayStart } from '../../src/core/time.ts'
import type { Loan, LoanRefused, LoanRequest } from '../../src/ledger/types.ts'
import type { ModelKey, ModelLease, ModelLimit } from './model.ts'
import { CENT, type Command, least, most, pick, saw, type World } from './world.ts'

const disableExhausted = (
  world: World,
  key: ModelKey,
  hopeless: readonly ModelLimit[],
  useful: Nano,
): void => {
  const { model } = world
  for (const owner of model.keys) {
    const caps = hopeless.filter(
      ({ name, owner: of, cap, spent }) =>
        of === owner && cap !== undefined && cap - spent < useful && !/daily|weekly/.test(name),
    )
    if (caps.length === 0 || !model.enabled(owner)) continue
    saw(world, owner === key ? 'key disabled by its cap' : 'maker disabled by its cap')
    owner.reason = caps.some(({ name }) => name === 'spend_cap_usd') ? 'spend_cap' : 'monthly_cap'
    owner.version += 1
    if (owner.reason === 'monthly_cap') owner.month = model.month
    else delete owner.month
  }
}

/** One request for a loan: by whom, with how much room of its own, and what the limits had before. */
type LoanAttempt = {
  key: ModelKey
  ask: LoanRequest
  before: ModelLease | undefined
  own: Nano
  /** The part that the instance does not have: on its way back, or lent in an answer that was lost. */
  astray: Nano
  limits: readonly ModelLimit[]
}

/** What a limit must have; a renewal of a lease needs nothing. */
const needed = ({ ask, own }: LoanAttempt, { name }: ModelLimit): Nano | undefined => {
  if (ask.need === undefined) return undefined
  if (name === 'wallet') return most(ask.need, CENT - own)
  // A call that costs nothing fits under every cap.
  return ask.need + own > 0n ? ask.need : undefined
}

const lacks = (attempt: LoanAttempt, limit: ModelLimit, there: Nano): boolean => {
  const need = needed(attempt, limit)
  return need !== undefined && there < need
}

const shortOf = (attempt: LoanAttempt): readonly ModelLimit[] =>
  attempt.limits.filter((limit) => lacks(attempt, limit, limit.room))

const expectRefusal = (world: World, attempt: LoanAttempt, result: LoanRefused): void => {
  const { model } = world
  const { key, ask, own, astray, limits } = attempt
  const short = shortOf(attempt)
  ok(short.length > 0, `refused with ${result.outcome} although everything fits`)
  const others = model.leases.filter((l) => l.state === 'open' && l !== attempt.before)
  const idle = (limit: ModelLimit): Nano =>
    others.filter(limit.under).reduce((total, lease) => total + model.idleOn(lease), astray)
  const held = (limit: ModelLimit): Nano =>
    model
      .live()
      .filter(limit.under)
      .reduce((total, lease) => total + (lease.state === 'open' ? model.heldOn(lease) : lease.left), 0n)
  const named = limits.filter(({ name, owner }) => name === result.limit && owner?.id === result.owner)
  ok(
    named.some((limit) => most(0n, limit.room + idle(limit) + own - astray) === result.available),
    `${result.limit} of ${result.owner} has ${result.available}`,
  )
  const lacking = short.filter((limit) => lacks(attempt, limit, limit.room + idle(limit)))
  const spent = lacking.filter((limit) => lacks(attempt, limit, limit.room + idle(limit) + held(limit)))
  equal(result.outcome, lacking.length === 0 ? 'recall' : spent.length === 0 ? 'held' : 'spent')
  if (result.outcome === 'spent') ok(result.required > result.available, 'needs no more than there is')
  if (result.outcome === 'recall') {
    const need = ask.need ?? 0n
    const lack = most(need, CENT - own) + (need + own - astray) * 16n
    for (const limit of short) model.recall(limit, attempt.before, lack - limit.room)
    return
  }
  const version = key.version
  disableExhausted(world, key, spent, ask.useful)
  equal(result.keyVersion, key.version === version ? undefined : key.version)
}

/** What the limits beside the wallet leave when only charges count. */
const leastOf = ({ model }: World, { key, limits }: LoanAttempt): Nano | undefined => {
  const settled = model.posted.get(key.wallet) ?? 0n
  const stops = model.keys.flatMap(({ id, limits: { stopAt } }) =>
    stopAt !== undefined && key.line.includes(id) ? [settled - stopAt] : [],
  )
  const lefts = [...stops, ...limits.flatMap(({ cap, spent }) => (cap === undefined ? [] : [cap - spent]))]
  return lefts.length === 0 ? undefined : lefts.reduce(least)
}

const expectGrowth = (world: World, attempt: LoanAttempt, result: Loan): void => {
  const { model } = world
  const { key, ask, before, limits } = attempt
  equal(shortOf(attempt).length, 0, `lent although ${shortOf(attempt).map(({ name }) => name)} is short`)
  const available = limits.map(({ room }) => room).reduce(least)
  const need = most(ask.need ?? 0n, 0n)
  // Where money is short, what others keep is wanted back.
  const few = most(5n * CENT, 20n * need)
  if (result.tight)
    for (const limit of limits) if (limit.room < few) model.recall(limit, before, 2n * few - limit.room)
  const bound = most(need, most(available, 0n) / 2n)
  ok(result.grown >= need && result.grown <= bound, `grown ${result.grown} of ${available}`)
  equal(result.tight, available < few)
  const fresh: ModelLease = {
    id: result.leaseId,
    instance: ask.instance,
    key,
    month: model.month,
    week: model.week,
    day: model.day,
    sub: ask.sub ?? key.sub,
    left: 0n,
    expires: 0,
    state: 'open',
    recall: false,
    pruned: false,
  }
  if (before === undefined) model.leases.push(fresh)
  const lease = before ?? fresh
  equal(result.leaseId, lease.id)
  lease.left += result.grown
  // Room that the instance does not report went astray: it counts with what the limits leave beside it.
  const room = lease.left - attempt.astray
  equal(result.beside === undefined ? undefined : result.beside + room, leastOf(world, attempt))
  lease.expires = Math.min(model.now + 10_000, nextDayStart(model.now))
  equal(result.lifeMs, lease.expires - model.now)
}

export const lend: Command = async (world, { a, b, c }) => {
  const { model, store, n } = world
  const key = pick(model.keys, a)
  const instance = pick(model.instances, b)
  if (key === undefined || instance === undefined) return
  // Some calls name a sub-wallet; a bound key may name its own.
  const named = c % 3 === 0 ? pick(model.subs, c >> 2) : undefined
  const sub = named?.id ?? key.sub
  const before = model.ownLease(instance, key, sub)
  const own = before === undefined ? 0n : model.idleOn(before)
  const amount = (BigInt(c % 41) * CENT) / 3n
  // A call needs what the own lease does not cover; now and then a lease is only renewed.
  const astray = c % 5 === 0 ? (own * BigInt(b % 101)) / 100n : 0n
  const need = c % 7 === 0 ? undefined : amount - (own - astray)
  const ask: LoanRequest = {
    instance,
    keyId: key.id,
    ...(named === undefined ? {} : { sub: named.id }),
    leaseId: before?.id ?? `l${n}`,
    ...(need === undefined ? {} : { need }),
    free: own - astray,
    want: amount * BigInt(1 + (b % 9)) + CENT,
    useful: amount / BigInt(1 + (c % 5)),
    ttlMs: 10_000,
  }
  const attempt = { key, ask, before, own, astray, limits: model.limits(key, sub) }
  const wasEnabled = model.enabled(key)
  const result = await store.ledger.lend(ask)
  saw(world, `lend ${result.outcome}`)
  if (!wasEnabled) return equal(result.outcome, 'disabled')
  if (named !== undefined && !model.serves(named, key)) return equal(result.outcome, 'unknown_sub')
  if (named?.maker !== undefined && named.maker !== key.id && result.outcome === 'lent')
    saw(world, 'lent under a sub-wallet of a key above')
  if (result.outcome !== 'lent') saw(world, `refused by ${result.limit}`)
  if (key.reason !== undefined) {
    saw(world, 'monthly block lifted')
    key.version += 1
    delete key.reason
    delete key.month
  }
  if (result.outcome === 'lent') expectGrowth(world, attempt, result)
  else expectRefusal(world, attempt, result)
}
