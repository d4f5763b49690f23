/** Under which budgets of tags a lease counts, as its row and its charges have it. */
import { type SqlDialect, type Statement, statement } from '../engine/engine.ts'
import type { LeaseRow } from './ledger-rows.ts'
import { type SpendingKey, tagBudgetsOf } from './spender.ts'

/** Notes under which budgets leases count that were just opened. */
export const nameBudgets = (
  { each }: SqlDialect,
  opened: readonly { readonly id: string; readonly spender: SpendingKey }[],
): readonly Statement[] => {
  const rows = opened.flatMap(({ id, spender }) =>
    tagBudgetsOf(spender).map((budget) => ({ l: id, b: budget.id })),
  )
  if (rows.length === 0) return []
  return [
    statement(
      `insert into lease_tag (lease_id, tag_budget) select e.value->>'l', e.value->>'b' from ${each('$1')} e`,
      JSON.stringify(rows),
    ),
  ]
}

/** The budgets of a path in the form of the column; undefined if there are none. */
export const tagBudgetsText = (spender: SpendingKey): string | undefined => {
  const ids = tagBudgetsOf(spender).map(({ id }) => ({ b: id }))
  return ids.length === 0 ? undefined : JSON.stringify(ids)
}

/** Whether budgets were set on its tags, or taken away, since the lease was opened. */
export const isUnderOthers = ({ tagBudgets = [] }: LeaseRow, spender: SpendingKey | undefined): boolean => {
  const now = spender === undefined ? [] : tagBudgetsOf(spender).map(({ id }) => id)
  return now.length !== tagBudgets.length || now.some((id) => !tagBudgets.includes(id))
}
