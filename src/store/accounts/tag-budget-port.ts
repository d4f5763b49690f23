/** The store's port for budgets of tags: what calls for a team, a feature or an end user may cost. */
import type { Nano } from '../../core/money.ts'
import type { Instant } from '../../core/time.ts'
import type { WalletId } from '../../tenancy/key.ts'
import type { CapName, Limits, Spent } from '../../tenancy/limits.ts'
import type { Actor } from '../people/event-port.ts'

/** What a budget is for: a tag's value, or with an empty one each value that has no budget set for it. */
export type TagValue = { readonly walletId: WalletId; readonly tag: string; readonly value: string }

/** Of a default: how many values get budgets of their own, and what becomes of the calls of others. */
type OfDefault = { readonly valuesMax?: number; readonly beyond?: 'refuse' | 'other' }

/** A budget as it is set. Amounts in nano-USD; absent caps do not bind. */
export type NewTagBudget = TagValue &
  OfDefault & {
    readonly id: string
    readonly caps: Pick<Limits, CapName>
    /** That of the change in which it was set, if it is done again because the ledger has lost it. */
    readonly version?: number
  }

export type ShownTagBudget = Omit<NewTagBudget, 'walletId'> & {
  /** It was made from the default of its tag, and changes with it. */
  readonly made: boolean
  /** How many values a default has made budgets for. */
  readonly valuesMade: number
  /** Charged in each period until now. */
  readonly spent: Spent
  /** What open calls hold. */
  readonly held: Nano
}

type BudgetList = {
  readonly tag?: string | undefined
  /** Only those after the one with this id, in the order of tags and values. */
  readonly after?: string | undefined
  readonly most: number
}

/**
 * A change: the database time after it, until which the caller waits that every process knows of it, and its version, which
 * is that of the wallet's rules.
 */
type BudgetChanged = { readonly at: Instant; readonly version: number }

export type TagBudgetStore = {
  tagBudgets(walletId: WalletId, which: BudgetList): Promise<readonly ShownTagBudget[]>
  tagBudget(which: TagValue): Promise<ShownTagBudget | undefined>
  /** The version in which it was set; 0 if there is none. */
  setIn(which: TagValue): Promise<number>
  /**
   * Sets all of a budget, also of one that its default made. What was spent under it goes on to count. `too_many` when the
   * wallet has as many as it may have, or budgets on as many tags.
   */
  putTagBudget(budget: NewTagBudget, by: Actor): Promise<BudgetChanged | 'too_many'>
  /**
   * Takes a budget away; a value of a tag with a default then has that. With a default go those that it made. Undefined if
   * there is none.
   */
  removeTagBudget(which: TagValue, by: Actor): Promise<BudgetChanged | undefined>
}
