/**
 * Statements that move money between a lease and the accounts and budgets it draws on.
 *
 * Lock order everywhere: keys (sorted) → leases (sorted) → budgets (sorted) → accounts (sorted); other instances'
 * leases after that, only with SKIP LOCKED. Always `FOR NO KEY UPDATE`, never `FOR UPDATE`: inserting a lease takes a
 * key-share lock on its account through the foreign key, and two transactions that both upgrade from that would
 * deadlock.
 */
import type { Nano } from '../../core/money.ts'
import { type Statement, statement, type Words } from '../engine/engine.ts'

/** Locks the budgets and the accounts of leases that are already locked. */
export const lockLimitsOf = (words: Words, leases: readonly string[]): readonly Statement[] => {
  if (!words.locksRows) return []
  const named = JSON.stringify(leases.map((c) => ({ c })))
  const each = `select e.value->>'c' from ${words.each('$1')} e`
  const scopes = `select s.scope from lease_scope s where ${words.oneOf('s.lease_id', each)}`
  const payers = `select l.wallet_id from lease l where ${words.oneOf('l.id', each)}`
  return [
    statement(
      `select b.scope from budget b where ${words.oneOf('b.scope', scopes)} order by b.scope${words.lock('b')}`,
      named,
    ),
    statement(
      `select a.id from account a where ${words.oneOf('a.id', payers)} order by a.id${words.lock('a')}`,
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
       calls = budget.calls + l.calls
     from lease l where l.id = $1 and l.state = $3
       and budget.scope in (select s.scope from lease_scope s where s.lease_id = $1)`,
    lease,
    delta,
    state,
  ),
  statement(
    `update account set balance = account.balance - l.used, held = account.held - l.used + cast($2 as bigint)
     from lease l where l.id = $1 and l.state = $3 and account.id = l.wallet_id`,
    lease,
    delta,
    state,
  ),
  statement(
    `update lease set granted = granted - used + cast($2 as bigint), used = 0, calls = 0
     where id = $1 and state = $3`,
    lease,
    delta,
    state,
  ),
]
