/** Wallet rules as a row of the database. */
import { present } from '../../core/json-body.ts'
import type { Nano } from '../../core/money.ts'
import type { GuardRule } from '../../guardrails/rules.ts'
import type { Condition } from '../../tenancy/conditions.ts'
import type { OwnKeys } from '../../tenancy/own-keys.ts'
import type { TenantsSee } from '../../tenancy/terms.ts'
import type { AutoTopUp, KnownRules, WalletRules } from '../../tenancy/wallet-rules.ts'
import type { Row } from '../engine/engine.ts'
import { countOf, textOf } from '../engine/row.ts'

/** Money is written as decimal text, because JSON has no integers of this size. */
type Stored = {
  perCallMax?: string
  dailyLimit?: string
  alertBelow?: string
  allowedModels?: string[]
  blockedModels?: string[]
  requires?: Condition[]
  alertWebhookUrl?: string
  autoTopUp?: { below: string; amount: string; monthlyMax?: string }
  suspended?: string
  tenantsSee?: TenantsSee
  budgeted?: string[]
  guardrails?: GuardRule[]
  ownKeys?: OwnKeys
}

const money = (text: string | undefined): Nano | undefined => (text === undefined ? undefined : BigInt(text))

const topUpOf = (stored: NonNullable<Stored['autoTopUp']>): AutoTopUp => ({
  below: BigInt(stored.below),
  amount: BigInt(stored.amount),
  ...present({ monthlyMax: money(stored.monthlyMax) }),
})

/** Reads the rules from their stored form. */
export const rulesOf = (text: string): WalletRules => {
  const stored: Stored = JSON.parse(text)
  return present({
    perCallMax: money(stored.perCallMax),
    dailyLimit: money(stored.dailyLimit),
    alertBelow: money(stored.alertBelow),
    allowedModels: stored.allowedModels,
    blockedModels: stored.blockedModels,
    requires: stored.requires,
    alertWebhookUrl: stored.alertWebhookUrl,
    autoTopUp: stored.autoTopUp === undefined ? undefined : topUpOf(stored.autoTopUp),
    suspended: stored.suspended,
    tenantsSee: stored.tenantsSee,
    budgeted: stored.budgeted,
    guardrails: stored.guardrails,
    ownKeys: stored.ownKeys,
  })
}

/** The stored form of the rules. */
export const textOfRules = (rules: WalletRules): string =>
  JSON.stringify(rules, (_name, value: unknown) => (typeof value === 'bigint' ? value.toString() : value))

/** The rules in a row of the table. */
export const knownRulesOf = (row: Row): KnownRules => ({
  walletId: textOf(row, 'wallet_id'),
  rules: rulesOf(textOf(row, 'rules')),
  version: countOf(row, 'version'),
})
