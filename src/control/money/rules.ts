/** Acts on the rules of a wallet: what its calls may cost, which models they may use, and when its owner is warned. */
import { z } from 'zod'
import { namedObject } from '../../core/body.ts'
import { decimalFromNano } from '../../core/money.ts'
import { invalid, must, Refusal, refuse } from '../../core/refusal.ts'
import { webhookSecret } from '../../gateway/jobs/signed-webhook.ts'
import { guardrailsHelp } from '../../guardrails/rules.ts'
import { type TopUpStatus, topUpPauses } from '../../store/funding/top-up-port.ts'
import type { Actor } from '../../store/people/event-port.ts'
import type { WalletId } from '../../tenancy/key.ts'
import { withModelIds } from '../../tenancy/model-patterns.ts'
import { ruleMembers, rulesChangeOf, toRules } from '../../tenancy/rules-body.ts'
import { tenantsSee } from '../../tenancy/terms.ts'
import {
  type AutoTopUp,
  type KnownRules,
  type RulesChange,
  rulesAs,
  type WalletRules,
} from '../../tenancy/wallet-rules.ts'
import { type Acting, act, type Control } from '../act.ts'
import { payer, walletIn } from '../org-of.ts'
import { etag, isoOf } from '../read.ts'
import { time, usd } from '../shown-key.ts'
import { may } from '../who.ts'

type Changing = Pick<Control, 'store' | 'book' | 'offering' | 'payments'>

/** A rule that could never charge is refused, so that nobody relies on it. */
const checkTopUp = async (
  { store, payments: { stripe } }: Changing,
  walletId: WalletId,
  { amount }: AutoTopUp,
): Promise<void> => {
  if (stripe === undefined || stripe.topUpDailyMax === 0n)
    throw invalid(
      'auto_top_up',
      'This server does not top wallets up by itself; fund the wallet in another way.',
    )
  if (amount > stripe.topUpDailyMax)
    throw invalid(
      'auto_top_up.amount_usd',
      `A wallet is topped up by ${decimalFromNano(stripe.topUpDailyMax)} USD a day at most; ask for less at a time.`,
    )
  if (!(await store.funding.topUpStatus(walletId)).saved)
    throw invalid(
      'auto_top_up',
      'The wallet has no saved payment method. Save one first: POST /api/wallet/checkout with ' +
        '{"amount_usd": 25, "save_payment_method": true}, pay at its url, and set the rule then.',
    )
}

type Wanted = {
  readonly walletId: WalletId
  readonly change: RulesChange
  readonly by: Actor
  /** The change is made only while the rules have this version. */
  readonly ifVersion?: number | undefined
}

/** Resolves with the new rules once no process admits a call on the old ones; throws the refusal of what is wrong. */
export const changeRules = async (
  control: Changing,
  { walletId, change: requested, by, ifVersion }: Wanted,
): Promise<KnownRules> => {
  const change = must(withModelIds(requested, control.offering.catalogue))
  if (change.autoTopUp) await checkTopUp(control, walletId, change.autoTopUp)
  const sinceRead = (_now: WalletRules, version: number) =>
    ifVersion === undefined || version === ifVersion
      ? change
      : refuse('precondition_failed', 'The rules were changed since you read them; read them again.')
  const { known, at } = must(await control.store.wallets.changeWalletRules(walletId, sinceRead, by))
  await control.book.untilKnown(at)
  return known
}

type TopUpChange = {
  readonly walletId: WalletId
  /** The rule from what it is when the change is made, or what is wrong with it; null removes it. */
  readonly change: (was: AutoTopUp | undefined) => AutoTopUp | null | Refusal
  readonly by: Actor
}

/** Changes members of the rule that charges a card, as `changeRules` does; changes that come together undo none of each other. */
export const changeTopUp = async (control: Changing, { walletId, change, by }: TopUpChange) => {
  const { wallets } = control.store
  const { rules } = await wallets.walletRules(walletId)
  const seen = must(change(rules.autoTopUp))
  // If another change comes in between, its members were checked by it.
  if (seen !== null) await checkTopUp(control, walletId, seen)
  const changed = ({ autoTopUp: was }: WalletRules) => {
    const autoTopUp = change(was)
    return autoTopUp instanceof Refusal ? autoTopUp : { autoTopUp }
  }
  const { at } = must(await wallets.changeWalletRules(walletId, changed, by))
  await control.book.untilKnown(at)
}

const models = z.array(z.string()).nullable()
const maybeUsd = usd.nullable()

const rulesShown = namedObject('WalletRules', {
  wallet_id: z.string(),
  per_call_max_usd: maybeUsd,
  daily_limit_usd: maybeUsd.describe('For a UTC day'),
  allowed_models: models.describe('Model ids; * stands for any letters, ? for one'),
  blocked_models: models,
  requires: models.describe('Conditions on where calls go'),
  alert_below_usd: maybeUsd,
  alert_webhook_url: z.string().nullable(),
  auto_top_up: z.object({ below_usd: usd, amount_usd: usd, monthly_max_usd: maybeUsd }).nullable(),
  tenants_see: z
    .enum(tenantsSee)
    .describe('What tenants are told of money: what the account is charged, its price, or nothing'),
  guardrails: z.array(z.record(z.string(), z.unknown())).nullable().describe(guardrailsHelp),
  alert_webhook_secret: z.string().nullable().describe('For those who may set the address'),
  auto_top_up_status: z.object({
    payment_method_saved: z.boolean(),
    active: z.boolean(),
    paused: z.enum(topUpPauses).nullable(),
    waits_until: time.nullable(),
    pending_usd: usd,
    charged_today_usd: usd,
    charged_this_month_usd: usd,
  }),
  version: z.int().describe('Grows with each change'),
})

const topUpsShown = ({ saved, active, paused, waitsUntil, pending, today, month }: TopUpStatus) => ({
  payment_method_saved: saved,
  active,
  paused: paused ?? null,
  waits_until: waitsUntil === undefined ? null : isoOf(waitsUntil),
  pending_usd: pending,
  charged_today_usd: today,
  charged_this_month_usd: month,
})

/** Whether something is sent that the secret signs. */
const hasWebhook = ({ alertWebhookUrl, guardrails = [] }: WalletRules): boolean =>
  alertWebhookUrl !== undefined || guardrails.some((rule) => 'hook' in rule)

const shown = async (
  { control, who }: Acting,
  { walletId, rules, version }: KnownRules,
): Promise<z.output<typeof rulesShown>> => {
  const all = rulesAs(rules, (nano) => nano)
  const { allowed_models: allowed, blocked_models: blocked, guardrails, requires, ...others } = all
  return {
    wallet_id: walletId,
    ...others,
    allowed_models: allowed === null ? null : [...allowed],
    blocked_models: blocked === null ? null : [...blocked],
    guardrails: guardrails === null ? null : guardrails.map((rule) => ({ ...rule })),
    requires: requires === null ? null : [...requires],
    // Who may not set the webhook's address does not get the secret that signs for it.
    alert_webhook_secret: !hasWebhook(rules) || !may(who, 'rules') ? null : webhookSecret(control, walletId),
    auto_top_up_status: topUpsShown(await control.store.funding.topUpStatus(walletId)),
    version,
  }
}

export const rulesGet = act({
  name: 'rules.get',
  summary: 'The rules of the wallet, which bind all its keys.',
  reads: ['wallet_read'],
  input: payer,
  shows: rulesShown,
  does: async (acting, named) => {
    const walletId = await walletIn(acting, named)
    return shown(acting, await acting.control.store.wallets.walletRules(walletId))
  },
})

export const rulesChange = act({
  name: 'rules.change',
  summary: 'Changes the given rules; null removes one. Answers once they apply on every process.',
  changes: ['rules'],
  input: { ...payer, ...ruleMembers, if_version: etag },
  strangers: toRules,
  shows: rulesShown,
  does: async (acting, { organisation, wallet, if_version: ifVersion, ...rules }) => {
    const { control, who } = acting
    // Whoever sets the other rules need not be allowed to pay.
    if (rules.auto_top_up !== undefined) must(who.lacks(['wallet']))
    const walletId = await walletIn(acting, { organisation, wallet })
    const change = rulesChangeOf(rules)
    return shown(acting, await changeRules(control, { walletId, change, by: who.actor, ifVersion }))
  },
})
