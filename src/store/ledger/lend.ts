/** Lending: a lease grows, or the answer says which limit binds. One transaction under the locks of every limit. */
import { greatest, type Nano } from '../../core/money.ts'
import { type Instant, nextDayStart } from '../../core/time.ts'
import { type Demand, growth, type Limit, shortLimits, verdictOf, WALLET_MINIMUM } from '../../ledger/lend.ts'
import { isJob, type Loan, type LoanRefused, type LoanRequest } from '../../ledger/types.ts'
import { isEnabled } from '../../tenancy/key.ts'
import { mayUseSub } from '../accounts/sub-wallet-store.ts'
import type { Engine, Run, Words } from '../engine/engine.ts'
import { countOf, onlyRow } from '../engine/row.ts'
import { applyLease } from './apply-lease.ts'
import { fence } from './fence.ts'
import type { PayerRow } from './ledger-rows.ts'
import {
  besideOf,
  type LockedLimits,
  limitsOf,
  lockLimits,
  lockSpender,
  type SpendingKey,
} from './lend-limits.ts'
import { barOf } from './payer.ts'
import { recall, shortageOf, under } from './shortage.ts'

const refused = (
  outcome: LoanRefused['outcome'],
  { need = 0n }: LoanRequest,
  limit?: NonNullable<LoanRefused['limit']>,
): LoanRefused => ({
  outcome,
  ...(limit === undefined ? {} : { limit }),
  required: need,
  available: 0n,
  held: 0n,
})

/** A block by the monthly cap ends with its month. */
const liftMonthlyBlock = async (run: Run, words: Words, { key }: SpendingKey): Promise<void> => {
  if (key.disabledReason === undefined) return
  await run(
    `update api_key set disabled_reason = null, disabled_month = null, version = version + 1, changed_at = ${words.now}
     where id = $1`,
    [key.id],
  )
}

/**
 * Disables the keys whose caps are exhausted; a lifetime cap's reason wins over a month's. Returns the new version of
 * `spender.key`.
 */
const disable = async (
  run: Run,
  words: Words,
  spender: SpendingKey,
  exhausted: ReturnType<typeof verdictOf>['exhausted'],
): Promise<number | undefined> => {
  let version: number | undefined
  for (const key of [spender.key, ...spender.makers]) {
    const own = exhausted.filter(({ owner }) => owner === key.id)
    if (own.length === 0 || !isEnabled(key, spender.month)) continue
    const monthly = own.every(({ limit }) => limit === 'monthly_cap_usd')
    const rows = await run(
      `update api_key set disabled_reason = $2, disabled_month = $3, version = version + 1, changed_at = ${words.now}
       where id = $1 returning version`,
      [key.id, monthly ? 'monthly_cap' : 'spend_cap', monthly ? spender.month : null],
    )
    if (key === spender.key) version = countOf(onlyRow(rows), 'version')
  }
  return version
}

const refuse = async (
  run: Run,
  words: Words,
  it: {
    request: LoanRequest
    ask: Demand
    spender: SpendingKey
    locked: LockedLimits
    short: readonly [Limit, ...Limit[]]
  },
): Promise<LoanRefused> => {
  const { request, ask, spender, locked, short } = it
  const own = locked.lease === undefined ? '' : locked.lease.id
  const [firstLimit, ...restLimits] = short
  const underOf = (limit: Limit) => under(limit, { payer: spender.payer, wallet: spender.key.walletId, own })
  const shortage = (limit: Limit) => shortageOf(run, limit, underOf(limit), locked)
  const first = await shortage(firstLimit)
  const rest = await Promise.all(restLimits.map(shortage))
  const verdict = verdictOf([first, ...rest], ask, request.useful)
  if (verdict.outcome === 'recall') {
    for (const limit of short) await recall(run, words, underOf(limit))
  }
  const version = await disable(run, words, spender, verdict.exhausted)
  const { limit, held, idle } = verdict.binding
  return {
    outcome: verdict.outcome,
    limit: limit.name,
    ...(limit.owner === undefined ? {} : { owner: limit.owner }),
    required: limit.name === 'wallet' ? greatest(ask.amount, ask.minimum) : ask.amount,
    // Room that is astray counts twice here: as idle, and as unused room of the own lease.
    available: greatest(limit.room + ask.ownUnused + idle - locked.astray, 0n),
    held,
    ...(locked.astray > 0n ? { astray: locked.astray } : {}),
    ...(version === undefined ? {} : { keyVersion: version }),
  }
}

/** A lease id that was used before and is closed cannot open again; the answer says which id was taken instead. */
const openLease = async (
  run: Run,
  request: LoanRequest,
  spender: SpendingKey,
  now: Instant,
): Promise<string> => {
  const insert = async (id: string): Promise<boolean> => {
    const rows = await run(
      `insert into lease (id, instance, key_id, wallet_id, sub_id, month, day, expires_at)
       values ($1, $2, $3, $4, $5, $6, $7, $8) on conflict (id) do nothing returning id`,
      [
        id,
        request.instance,
        spender.key.id,
        spender.payer,
        spender.sub ?? null,
        spender.month,
        spender.day,
        now,
      ],
    )
    return rows.length > 0
  }
  if (await insert(request.leaseId)) return request.leaseId
  const other = `${request.leaseId.split('+')[0]}+${now.toString(36)}`
  if (await insert(other)) return other
  throw new Error(`lease ${other} exists already`)
}

/**
 * What the call holds, according to its process. The ledger may know of charges that the process has not heard of yet;
 * then the ledger counts less as unused than the process subtracted from its need.
 */
const amountOf = ({ need, free }: LoanRequest, ownUnused: Nano): Nano =>
  need === undefined ? 0n : need + (free ?? ownUnused)

/** Fences the own lease, so that its astray room is free again. */
const giveUp = async (
  run: Run,
  words: Words,
  { request, spender, locked }: { request: LoanRequest; spender: SpendingKey; locked: LockedLimits },
): Promise<LockedLimits> => {
  if (locked.lease === undefined) return locked
  await fence(run, locked.lease)
  return lockLimits(run, words, request, spender)
}

const grow = async (
  run: Run,
  it: {
    request: LoanRequest
    ask: Demand
    spender: SpendingKey
    locked: LockedLimits
    payer: PayerRow
    limits: readonly Limit[]
  },
): Promise<Loan> => {
  const { request, ask, spender, locked, payer, limits } = it
  const beside = besideOf(locked, payer)
  const { grown, tight } = growth(limits, ask)
  const leaseId =
    locked.lease === undefined ? await openLease(run, request, spender, locked.now) : locked.lease.id
  const lasts = locked.now + request.ttlMs
  // A job counts in the day in which it began, however long it runs.
  const expires = isJob(request.instance) ? lasts : Math.min(lasts, nextDayStart(spender.now))
  await Promise.all([
    ...applyLease(leaseId, grown, 'open').map(({ text, params }) => run(text, params)),
    run('update lease set expires_at = $2 where id = $1', [leaseId, expires]),
  ])
  return {
    outcome: 'lent',
    leaseId,
    grown,
    lifeMs: expires - locked.now,
    tight,
    ...(beside === undefined ? {} : { beside: beside - grown }),
  }
}

/** Grows the lease of one spending path by what the call needs and the limits allow, or says which limit binds. */
export const lendIn = (engine: Engine, request: LoanRequest): Promise<Loan | LoanRefused> =>
  engine.transaction('control', (run) => lendWithin(run, engine.words, request))

/** The same inside a larger transaction. */
export const lendWithin = async (
  run: Run,
  words: Words,
  request: LoanRequest,
): Promise<Loan | LoanRefused> => {
  const spender = await lockSpender(run, words, request)
  if (spender === undefined) return refused('unknown_key', request)
  if (!isEnabled(spender.key, spender.month)) return refused('disabled', request)
  if (request.sub !== undefined && !(await mayUseSub(run, spender.key, request.sub)))
    return refused('unknown_sub', request)
  await liftMonthlyBlock(run, words, spender)
  const found = await lockLimits(run, words, request, spender)
  const locked = request.anew === true ? await giveUp(run, words, { request, spender, locked: found }) : found
  const { payer } = locked
  const bar = barOf(payer, spender.key.walletId, spender.now)
  if (payer === undefined || bar !== undefined) return refused('spent', request, bar)
  const minimum = request.goesOn === true ? 0n : WALLET_MINIMUM
  const { need, want } = request
  const { ownUnused } = locked
  const ask: Demand = { need, amount: amountOf(request, ownUnused), want, ownUnused, minimum }
  const limits = limitsOf(locked, payer, spender)
  const [first, ...rest] = shortLimits(limits, ask)
  if (first === undefined) return grow(run, { request, ask, spender, locked, payer, limits })
  return refuse(run, words, { request, ask, spender, locked, short: [first, ...rest] })
}
