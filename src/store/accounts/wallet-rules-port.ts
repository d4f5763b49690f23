/** The store's port for wallet rules. */
import type { Nano } from '../../core/money.ts'
import type { Refusal } from '../../core/refusal.ts'
import type { Instant } from '../../core/time.ts'
import type { WalletId } from '../../tenancy/key.ts'
import type { KnownRules, RulesChange, WalletRules } from '../../tenancy/wallet-rules.ts'
import type { Actor } from '../people/event-port.ts'

export type WalletRulesStore = {
  /** The cost of the wallet's calls in this UTC day, and what its open calls hold. */
  spentToday(id: WalletId): Promise<{ readonly spent: Nano; readonly held: Nano }>
  /** Version 0 without rules if none were ever set. */
  walletRules(id: WalletId): Promise<KnownRules>
  /**
   * Commits the change and returns the database time after it, for the wait until every process knows. `by` is recorded
   * with it. A change that depends on the present rules, or their version, is a function of them: no other change comes
   * in between. If it returns a refusal, nothing is changed.
   */
  changeWalletRules<Refused extends Refusal = never>(
    id: WalletId,
    change: RulesChange | ((now: WalletRules, version: number) => RulesChange | Refused),
    by: Actor,
  ): Promise<{ readonly known: KnownRules; readonly at: Instant } | Refused>
  /** Writes later rules of a wallet, which the ledger has lost; returns whether it had older ones. */
  putRulesBack(known: KnownRules): Promise<boolean>
}
