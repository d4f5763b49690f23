/**
 * Lending: leases grow, or the answer says which limit binds. One transaction, under the locks of every limit, serves
 * all requests of an instance that came together. Each is decided as if those before it were already written.
 */
import type { Nano } from '../../core/money.ts'
import { type Instant, nextDayStart, weekOf } from '../../core/time.ts'
import { type Demand, growth, type Limit, shortLimits, WALLET_MINIMUM } from '../../ledger/lend.ts'
import { isJob, type LeaseId, type Loan, type LoanRefused, type LoanRequest } from '../../ledger/types.ts'
import { isEnabled } from '../../tenancy/key.ts'
import { mayUseSub } from '../accounts/sub-wallet-store.ts'
import { type Run, runAll, type SqlDialect, type Statement, statement } from '../engine/engine.ts'
import { applyMoves, type LeaseMove } from './apply-lease.ts'
import { fenceAll } from './fence.ts'
import { isUnderOthers, nameBudgets, tagBudgetsText } from './lease-tags.ts'
import {
  besideOf,
  type LockedLimits,
  limitNames,
  limitsOf,
  lockLimits,
  type SpenderRequest,
} from './lend-limits.ts'
import { openEstimateAccounts, payerBlock } from './payer.ts'
import { type Demanding, recallKept, refuse, type Short } from './refuse-loan.ts'
import { lockSpenders, type SpendingKey } from './spender.ts'
import { ToldSums } from './told-sums.ts'

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
const liftMonthlyBlock = async (run: Run, dialect: SqlDialect, { key }: SpendingKey): Promise<void> => {
  if (key.disabledReason === undefined) return
  await run(
    `update api_key set disabled_reason = null, disabled_month = null, version = version + 1, changed_at = ${dialect.now}
     where id = $1`,
    [key.id],
  )
}

/**
 * The hold of the call that waits, nothing if none does. Its process asks only for what its lease lacks, so the hold is
 * that and what the process knew to be free: who has 2 free and needs 3 more has a call of 5. The ledger's own count of
 * what is unused may be lower, by charges of which the process has not heard yet.
 */
const waitingHoldOf = ({ need, free }: LoanRequest, ownUnused: Nano): Nano =>
  need === undefined ? 0n : need + (free ?? ownUnused)

type Open = Demanding & { readonly at: number }

type Answer = Loan | LoanRefused

/** Grows one lease in memory, so that the next request finds that much less. */
const grow = ({ spender, locked, ask }: Open, limits: readonly Limit[]): Grown => {
  const { grown, tight } = growth(limits, ask)
  locked.lent.add(limitNames(locked.scopes, spender.payer), grown)
  return { grown, tight }
}

type Grown = ReturnType<typeof growth>
type Lending = Open & Grown & { readonly limits: readonly Limit[] }
type Refusing = Short & { readonly at: number }

/** The lease on which is lent. If the id that was asked for was used before, a new one opens under another. */
const idOf = ({ request: { leaseId }, locked: { lease, idUsed, now } }: Lending): LeaseId =>
  lease?.id ?? (idUsed ? `${leaseId.split('+')[0]}+${now.toString(36)}` : leaseId)

/** Opens the leases that do not exist yet, with what is lent on them. */
const openLeases = (dialect: SqlDialect, loans: readonly Lending[]): readonly Statement[] => {
  const opened = loans.filter(({ locked }) => locked.lease === undefined)
  if (opened.length === 0) return []
  const rows = opened.map((loan) => ({
    l: idOf(loan),
    i: loan.request.instance,
    k: loan.spender.key.id,
    w: loan.spender.payer,
    s: loan.spender.sub,
    m: loan.spender.month,
    o: weekOf(loan.spender.day),
    d: loan.spender.day,
    t: loan.spender.tagsDigest,
    b: tagBudgetsText(loan.spender),
    g: loan.grown.toString(),
    x: endOf(loan),
  }))
  return [
    statement(
      `insert into lease (id, instance, key_id, wallet_id, sub_id, month, week, day, tags, tag_budgets, granted, expires_at)
       select e.value->>'l', e.value->>'i', e.value->>'k', e.value->>'w', e.value->>'s', e.value->>'m', e.value->>'o', e.value->>'d',
         e.value->>'t', e.value->>'b', cast(e.value->>'g' as bigint), cast(e.value->>'x' as bigint)
       from ${dialect.each('$1')} e order by 1`,
      JSON.stringify(rows),
    ),
    ...nameBudgets(
      dialect,
      opened.map((loan) => ({ id: idOf(loan), spender: loan.spender })),
    ),
  ]
}

/** Until when the lease may live. A job counts in the day in which it began, however long it runs. */
const endOf = ({ request, spender, locked }: SpenderRequest & { readonly locked: LockedLimits }): Instant => {
  const lasts = locked.now + request.ttlMs
  return isJob(request.instance) ? lasts : Math.min(lasts, nextDayStart(spender.now))
}

/** Writes what was lent. */
const writesOf = (dialect: SqlDialect, loans: readonly Lending[]): readonly Statement[] => {
  if (loans.length === 0) return []
  const moves = loans.map((loan): LeaseMove => {
    const { lease, scopes } = loan.locked
    const { used = 0n, calls = 0 } = lease ?? {}
    return {
      id: lease?.id,
      used,
      calls,
      scopes,
      payer: loan.spender.payer,
      delta: loan.grown,
      ends: endOf(loan),
    }
  })
  return [
    ...openLeases(dialect, loans),
    ...applyMoves(dialect, moves),
    ...loans.flatMap((loan) => (loan.tight ? recallKept(dialect, loan, idOf(loan)) : [])),
  ]
}

const loanOf = (loan: Lending): Loan => {
  const { locked, grown, tight } = loan
  const beside = besideOf(locked)
  return {
    outcome: 'lent',
    leaseId: idOf(loan),
    grown,
    lifeMs: endOf(loan) - locked.now,
    tight,
    ...(beside === undefined ? {} : { beside: beside - grown }),
  }
}

/** The answer that needs no look at the limits; undefined if the limits decide. */
const refusedAtOnce = async (
  run: Run,
  dialect: SqlDialect,
  { request, spender }: { request: LoanRequest; spender: SpendingKey | undefined },
): Promise<LoanRefused | undefined> => {
  if (spender === undefined) return refused('unknown_key', request)
  if (!isEnabled(spender.key, spender.month, request.admitted)) return refused('disabled', request)
  if (request.sub !== undefined && !(await mayUseSub(run, spender.key, request.sub)))
    return refused('unknown_sub', request)
  const { full } = spender.tagged ?? {}
  if (full !== undefined) return { ...refused('full', request), budget: full }
  await liftMonthlyBlock(run, dialect, spender)
  return undefined
}

/** Locks the limits. Own leases that are given up are fenced, so that their astray room is free again. */
const lockedFor = async (
  run: Run,
  dialect: SqlDialect,
  asks: readonly [SpenderRequest, ...SpenderRequest[]],
  told: ToldSums,
): Promise<readonly LockedLimits[]> => {
  const found = await lockLimits(run, dialect, asks, told)
  const givenUp = found.flatMap(({ lease }, at) =>
    lease !== undefined && (asks[at]?.request.anew === true || isUnderOthers(lease, asks[at]?.spender))
      ? [lease]
      : [],
  )
  if (givenUp.length === 0) return found
  await fenceAll(run, dialect, givenUp)
  return lockLimits(run, dialect, asks, told)
}

const demandOf = (request: LoanRequest, { ownUnused }: LockedLimits): Demand => ({
  need: request.need,
  amount: waitingHoldOf(request, ownUnused),
  want: request.want,
  ownUnused,
  minimum: request.admitted === true ? 0n : WALLET_MINIMUM,
})

type Lender = {
  readonly told: ToldSums
  /** Writes what was lent, perhaps only with the commit. */
  readonly write: (statements: readonly Statement[]) => Promise<unknown>
}

/**
 * Grows the leases of spending paths by what the calls need and the limits allow, or says for each which limit binds,
 * inside a larger transaction. All requests are of one instance, and no two of one path.
 */
export const lendWithin = async (
  run: Run,
  dialect: SqlDialect,
  requests: readonly LoanRequest[],
  { told, write }: Lender,
): Promise<readonly Answer[]> => {
  const answers: (Answer | undefined)[] = []
  await openEstimateAccounts(run, dialect, requests)
  const spenders = await lockSpenders(run, dialect, requests)
  const asks: (SpenderRequest & { readonly at: number })[] = []
  for (const [at, request] of requests.entries()) {
    const spender = spenders[at]
    answers[at] = await refusedAtOnce(run, dialect, { request, spender })
    if (answers[at] === undefined && spender !== undefined) asks.push({ at, request, spender })
  }
  const [first, ...others] = asks
  if (first === undefined) return whole(answers)
  const found = await lockedFor(run, dialect, [first, ...others], told)
  const lending: Lending[] = []
  const short: Refusing[] = []
  for (const [index, { at, request, spender }] of asks.entries()) {
    const locked = found[index]
    const payer = locked?.payer
    const block = payerBlock(payer, spender.key.walletId, spender.now)
    if (locked === undefined || payer === undefined || block !== undefined) {
      answers[at] = refused('spent', request, block)
      continue
    }
    const open: Open = { at, request, spender, locked, ask: demandOf(request, locked) }
    const limits = limitsOf(locked, payer, spender)
    const [binds, ...bind] = shortLimits(limits, open.ask)
    if (binds === undefined) lending.push({ ...open, ...grow(open, limits), limits })
    else short.push({ ...open, short: [binds, ...bind] })
  }
  for (const loan of lending) answers[loan.at] = loanOf(loan)
  const writes = writesOf(dialect, lending)
  // Whoever is refused for what was just lent is refused by what is written.
  await (short.length > 0 ? runAll(run, writes) : write(writes))
  const refusals = await refuseAll(run, dialect, short, { lent: lending.length > 0, lender: { told, write } })
  for (const [index, { at }] of short.entries()) answers[at] = refusals[index]
  return whole(answers)
}

/** Says for each which limit binds. If something was lent since the limits were read, they are read again. */
const refuseAll = async (
  run: Run,
  dialect: SqlDialect,
  short: readonly Refusing[],
  { lent, lender }: { readonly lent: boolean; readonly lender: Lender },
): Promise<readonly Answer[]> => {
  if (lent && short.length > 0) {
    const requests = short.map(({ request }) => request)
    return lendWithin(run, dialect, requests, lender)
  }
  const answers: Answer[] = []
  for (const open of short) answers.push(await refuse(run, dialect, open))
  return answers
}

/** The same for work that goes on with what was lent. */
export const lendNow = (run: Run, dialect: SqlDialect, requests: readonly LoanRequest[]) =>
  lendWithin(run, dialect, requests, { told: new ToldSums(), write: (statements) => runAll(run, statements) })

/** The same for one request. */
export const lendOne = async (run: Run, dialect: SqlDialect, request: LoanRequest): Promise<Answer> => {
  const [answer] = await lendNow(run, dialect, [request])
  return answer ?? unanswered()
}

const unanswered = (): never => {
  throw new Error('a request for a loan was not answered')
}

const whole = (answers: readonly (Answer | undefined)[]): readonly Answer[] =>
  answers.map((answer) => answer ?? unanswered())
