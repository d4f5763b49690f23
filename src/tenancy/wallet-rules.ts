/** Rules that an owner sets for a wallet: what a call and a day may cost, which models, and when to be warned. */
import { type Nano, usdNumber } from '../core/money.ts'
import type { WalletId } from './key.ts'

/** Charges a saved card with `amount` when the wallet falls below `below`; all of a UTC month within `monthlyMax`. */
export type AutoTopUp = { readonly below: Nano; readonly amount: Nano; readonly monthlyMax?: Nano }

/** An absent rule does not bind. */
export type WalletRules = {
  readonly perCallMax?: Nano
  readonly dailyLimit?: Nano
  /** Globs of model ids; when given, only these models may be called. */
  readonly allowedModels?: readonly string[]
  readonly blockedModels?: readonly string[]
  readonly alertBelow?: Nano
  readonly alertWebhookUrl?: string
  readonly autoTopUp?: AutoTopUp
  /** Why the operator has suspended the account: no call of it is admitted. No owner can set or end it. */
  readonly suspended?: string
}

/** Rules as they were read, with a version that grows with every change; 0 when none were ever set. */
export type KnownRules = {
  readonly walletId: WalletId
  readonly rules: WalletRules
  readonly version: number
}

/** Tri-state: absent leaves a rule, null removes it. */
export type RulesChange = { readonly [Name in keyof WalletRules]?: WalletRules[Name] | null }

/** The rules as they stand after a change. */
export const changedRules = (rules: WalletRules, change: RulesChange): WalletRules =>
  Object.fromEntries(Object.entries({ ...rules, ...change }).filter(([, rule]) => rule !== null))

const usd = (value: Nano | undefined): number | null => (value === undefined ? null : usdNumber(value))

/** The rules as they are told. */
export const shownRules = (rules: WalletRules) => ({
  per_call_max_usd: usd(rules.perCallMax),
  daily_limit_usd: usd(rules.dailyLimit),
  allowed_models: rules.allowedModels ?? null,
  blocked_models: rules.blockedModels ?? null,
  alert_below_usd: usd(rules.alertBelow),
  alert_webhook_url: rules.alertWebhookUrl ?? null,
  auto_top_up:
    rules.autoTopUp === undefined
      ? null
      : {
          below_usd: usdNumber(rules.autoTopUp.below),
          amount_usd: usdNumber(rules.autoTopUp.amount),
          monthly_max_usd: usd(rules.autoTopUp.monthlyMax),
        },
})
