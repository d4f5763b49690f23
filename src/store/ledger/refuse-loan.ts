/** The answer to a request for a loan that does not fit: which limit binds, and whether its money may come back. */
import { present } from '../../core/json-body.ts'
import { greatest } from '../../core/money.ts'
import { type Demand, type Limit, lackOf, nearlyUsed, verdictOf } from '../../ledger/lend.ts'
import type { LeaseId, LoanRefused } from '../../ledger/types.ts'
import { isEnabled } from '../../tenancy/key.ts'
import { capNamed } from '../../tenancy/limits.ts'
import { type Run, runOne, type SqlDialect, type Statement } from '../engine/engine.ts'
import { countOf, onlyRow } from '../engine/row.ts'
import type { LockedLimits, SpenderRequest } from './lend-limits.ts'
import { recall, shortageOf, under } from './shortage.ts'
import type { SpendingKey } from './spender.ts'

/** A request with what it asks of its limits. */
export type Demanding = SpenderRequest & { readonly locked: LockedLimits; readonly ask: Demand }

/** A request that does not fit, with the limits that are too short for it. */
export type Short = Demanding & { readonly short: readonly [Limit, ...Limit[]] }

/**
 * Disables the keys whose caps are exhausted; a lifetime cap's reason wins over a month's. Returns the new version of
 * `spender.key`.
 */
const disable = async (
  run: Run,
  dialect: SqlDialect,
  spender: SpendingKey,
  exhausted: ReturnType<typeof verdictOf>['exhausted'],
): Promise<number | undefined> => {
  let version: number | undefined
  for (const key of [spender.key, ...spender.makers]) {
    const own = exhausted.filter(({ owner }) => owner === key.id)
    if (own.length === 0 || !isEnabled(key, spender.month)) continue
    const reasons = own.map(({ limit }) => capNamed(limit)?.cap.disables)
    const monthly = !reasons.includes('spend_cap')
    const rows = await run(
      `update api_key set disabled_reason = $2, disabled_month = $3, version = version + 1, changed_at = ${dialect.now}
       where id = $1 returning version`,
      [key.id, monthly ? 'monthly_cap' : 'spend_cap', monthly ? spender.month : null],
    )
    if (key === spender.key) version = countOf(onlyRow(rows), 'version')
  }
  return version
}

/** Leases under a limit of a path, other than its own. */
const underOf = (dialect: SqlDialect, { spender }: Demanding, limit: Limit, own: LeaseId | undefined) =>
  under(dialect, limit, { payer: spender.payer, wallet: spender.key.walletId, own: own ?? '' })

/** What processes keep under limits that are nearly used up goes back, so that calls need not wait for it. */
export const recallKept = (
  dialect: SqlDialect,
  it: Demanding & { readonly limits: readonly Limit[] },
  own: LeaseId | undefined,
): readonly Statement[] =>
  nearlyUsed(it.limits, it.ask).map(({ limit, lack }) =>
    recall(dialect, underOf(dialect, it, limit, own), { amount: lack, beside: false }),
  )

/** Says which limit binds, recalls room that others do not use, and disables keys whose caps are exhausted. */
export const refuse = async (run: Run, dialect: SqlDialect, it: Short): Promise<LoanRefused> => {
  const { request, ask, spender, locked, short } = it
  const others = (limit: Limit) => underOf(dialect, it, limit, locked.lease?.id)
  const shortage = (limit: Limit) => shortageOf(run, limit, others(limit), locked)
  const [firstLimit, ...restLimits] = short
  const first = await shortage(firstLimit)
  const rest = await Promise.all(restLimits.map(shortage))
  const verdict = verdictOf([first, ...rest], ask, request.useful)
  if (verdict.outcome === 'recall') {
    for (const limit of short)
      await runOne(run, recall(dialect, others(limit), { amount: lackOf(limit, ask), beside: true }))
  }
  const version = await disable(run, dialect, spender, verdict.exhausted)
  const { limit, held, idle } = verdict.binding
  return {
    outcome: verdict.outcome,
    limit: limit.name,
    ...present({ owner: limit.owner, budget: limit.budget }),
    required: limit.name === 'wallet' ? greatest(ask.amount, ask.minimum) : ask.amount,
    // Room that is astray counts twice here: as idle, and as unused room of the own lease.
    available: greatest(limit.room + ask.ownUnused + idle - locked.astray, 0n),
    held,
    ...(locked.astray > 0n ? { astray: locked.astray } : {}),
    ...(version === undefined ? {} : { keyVersion: version }),
  }
}
