/**
 * Statements that move money between a lease and the accounts and budgets it draws on.
 *
 * Lock order everywhere: keys (sorted) → leases (sorted) → budgets (sorted) → accounts (sorted); other instances'
 * leases after that, only with SKIP LOCKED. Always `FOR NO KEY UPDATE`, never `FOR UPDATE`: inserting a lease takes a
 * key-share lock on its account through the foreign key, and two transactions that both upgrade from that would
 * deadlock.
 */
import type { Nano } from '../../core/money.ts'
import type { Instant } from '../../core/time.ts'
import { isEstimateAccount } from '../../ledger/estimates.ts'
import type { AccountId, LeaseId } from '../../ledger/types.ts'
import { type SqlDialect, type Statement, statement } from '../engine/engine.ts'
import { estimatedOf, stateOf } from './sums.ts'

/** Locks the budgets and the accounts of leases that are already locked. */
export const lockLimitsOf = (dialect: SqlDialect, leases: readonly string[]): readonly Statement[] => {
  if (!dialect.locksRows) return []
  const named = JSON.stringify(leases.map((c) => ({ c })))
  const each = `select e.value->>'c' from ${dialect.each('$1')} e`
  const scopes = `select s.scope from lease_scope s where ${dialect.oneOf('s.lease_id', each)}`
  const payers = `select l.wallet_id from lease l where ${dialect.oneOf('l.id', each)}`
  return [
    statement(
      `select b.scope from budget b where ${dialect.oneOf('b.scope', scopes)} order by b.scope${dialect.lock('b')}`,
      named,
    ),
    statement(
      `select a.id from account a where ${dialect.oneOf('a.id', payers)} order by a.id${dialect.lock('a')}`,
      named,
    ),
  ]
}

/**
 * Moves what a lease has used out of `held` into `balance` and `used`, and changes what it holds by `delta`. The lease
 * and its limits must be locked, and `state` must be the lease's state; otherwise nothing happens.
 */
export const applyLease = (lease: string, delta: Nano, state: string): readonly Statement[] => [
  statement(
    `update budget set used = budget.used + l.used, held = budget.held - l.used + cast($2 as bigint),
       calls = budget.calls + l.calls,
       estimated = budget.estimated + ${estimatedOf('l')}
     from lease l where l.id = $1 and ${stateOf('l')} = $3
       and budget.scope in (select s.scope from lease_scope s where s.lease_id = $1)`,
    lease,
    delta,
    state,
  ),
  statement(
    `update account set balance = account.balance - l.used, held = account.held - l.used + cast($2 as bigint)
     from lease l where l.id = $1 and ${stateOf('l')} = $3 and account.id = l.wallet_id`,
    lease,
    delta,
    state,
  ),
  statement(
    `update lease set granted = granted - used + cast($2 as bigint), used = 0, calls = 0
     where id = $1 and ${stateOf('lease')} = $3`,
    lease,
    delta,
    state,
  ),
]

/** What changes on one open lease that is locked with its limits. */
export type LeaseMove = {
  /** Undefined for one that is opened with what it holds. */
  readonly id: LeaseId | undefined
  /** What it used, and in how many calls: this moves out of what is held. */
  readonly used: Nano
  readonly calls: number
  /** The increase of what it holds. */
  readonly delta: Nano
  readonly scopes: readonly string[]
  readonly payer: AccountId
  /** Until when it may live, if that changes. */
  readonly ends?: Instant
}

type Sum = { used: Nano; held: Nano; calls: number; estimated: Nano; ends?: Instant | undefined }

const rowsOf = (sums: ReadonlyMap<string, Sum>): string =>
  JSON.stringify(
    [...sums].map(([n, { used, held, calls, estimated, ends: x }]) => ({
      n,
      u: used.toString(),
      h: held.toString(),
      c: calls,
      e: estimated.toString(),
      x,
    })),
  )

/** The same for many leases whose rows are known: each limit is written once. */
export const applyMoves = ({ each }: SqlDialect, moves: readonly LeaseMove[]): readonly Statement[] => {
  const [counters, accounts, leases] = [
    new Map<string, Sum>(),
    new Map<string, Sum>(),
    new Map<string, Sum>(),
  ]
  const add = (to: Map<string, Sum>, name: string, { used, delta, calls, payer, ends }: LeaseMove): void => {
    const sum = to.get(name) ?? { used: 0n, held: 0n, calls: 0, estimated: 0n }
    const estimated = sum.estimated + (isEstimateAccount(payer) ? used : 0n)
    to.set(name, {
      used: sum.used + used,
      held: sum.held + delta - used,
      calls: sum.calls + calls,
      estimated,
      ends,
    })
  }
  for (const move of moves) {
    for (const scope of move.scopes) add(counters, scope, move)
    add(accounts, move.payer, move)
    if (move.id !== undefined) add(leases, move.id, move)
  }
  const number = (member: string) => `cast(e.value->>'${member}' as bigint)`
  const moved = [
    statement(
      `update budget set used = budget.used + ${number('u')}, held = budget.held + ${number('h')},
         calls = budget.calls + ${number('c')}, estimated = budget.estimated + ${number('e')} from ${each('$1')} e where budget.scope = e.value->>'n'`,
      rowsOf(counters),
    ),
    statement(
      `update account set balance = account.balance - ${number('u')}, held = account.held + ${number('h')}
       from ${each('$1')} e where account.id = e.value->>'n'`,
      rowsOf(accounts),
    ),
    statement(
      `update lease set granted = lease.granted + ${number('h')}, used = lease.used - ${number('u')},
         calls = lease.calls - ${number('c')}, expires_at = coalesce(${number('x')}, lease.expires_at) from ${each('$1')} e where lease.id = e.value->>'n'`,
      rowsOf(leases),
    ),
  ]
  return leases.size === 0 ? moved.slice(0, -1) : moved
}
