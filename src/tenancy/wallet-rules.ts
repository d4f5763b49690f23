/** Rules that an owner sets for a wallet: what a call and a day may cost, which models it may use, and when to warn. */
import { type Nano, usdNumber } from '../core/money.ts'
import type { GuardRule } from '../guardrails/rules.ts'
import type { Condition } from './conditions.ts'
import type { WalletId } from './key.ts'
import type { OwnKeys } from './own-keys.ts'
import type { TenantsSee } from './terms.ts'

/** Charges a saved card with `amount` when the wallet falls below `below`; at most `monthlyMax` in a UTC month. */
export type AutoTopUp = { readonly below: Nano; readonly amount: Nano; readonly monthlyMax?: Nano }

/** An absent rule does not bind. */
export type WalletRules = {
  readonly perCallMax?: Nano
  readonly dailyLimit?: Nano
  /** Globs of model ids; if given, only these models may be called. */
  readonly allowedModels?: readonly string[]
  readonly blockedModels?: readonly string[]
  /** What its calls ask of where they go. */
  readonly requires?: readonly Condition[]
  readonly alertBelow?: Nano
  readonly alertWebhookUrl?: string
  readonly autoTopUp?: AutoTopUp
  /** What tenants of the account are told of money: what we charge for their calls if it is absent. */
  readonly tenantsSee?: TenantsSee
  /** What is looked for in the texts of calls. */
  readonly guardrails?: readonly GuardRule[]
  /** The tags on which there are budgets, sorted; absent if there are none. Set with the budgets alone. */
  readonly budgeted?: readonly string[]
  /** The keys that the organisation has at vendors itself. Set with those alone, in all its wallets. */
  readonly ownKeys?: OwnKeys
  /** Why the operator has suspended the account: none of its calls are admitted. No owner can set or end this. */
  readonly suspended?: string
}

/** Rules as they were read, with a version that grows with every change; 0 if none were ever set. */
export type KnownRules = {
  readonly walletId: WalletId
  readonly rules: WalletRules
  readonly version: number
}

/** Three states: absent keeps a rule, null removes it, a value sets it. */
export type RulesChange = { readonly [Name in keyof WalletRules]?: WalletRules[Name] | null }

/** The rules after a change. */
export const changedRules = (rules: WalletRules, change: RulesChange): WalletRules =>
  Object.fromEntries(Object.entries({ ...rules, ...change }).filter(([, rule]) => rule !== null))

/** The rules as answers show them, with amounts in their form. */
export const rulesAs = <Amount>(rules: WalletRules, usd: (amount: Nano) => Amount) => {
  const maybe = (amount: Nano | undefined): Amount | null => (amount === undefined ? null : usd(amount))
  const { autoTopUp } = rules
  return {
    per_call_max_usd: maybe(rules.perCallMax),
    daily_limit_usd: maybe(rules.dailyLimit),
    allowed_models: rules.allowedModels ?? null,
    blocked_models: rules.blockedModels ?? null,
    requires: rules.requires ?? null,
    alert_below_usd: maybe(rules.alertBelow),
    alert_webhook_url: rules.alertWebhookUrl ?? null,
    auto_top_up:
      autoTopUp === undefined
        ? null
        : {
            below_usd: usd(autoTopUp.below),
            amount_usd: usd(autoTopUp.amount),
            monthly_max_usd: maybe(autoTopUp.monthlyMax),
          },
    tenants_see: rules.tenantsSee ?? ('cost' as const),
    guardrails: rules.guardrails ?? null,
  }
}

/** The same with amounts as JSON numbers. */
export const shownRules = (rules: WalletRules) => rulesAs(rules, usdNumber)
