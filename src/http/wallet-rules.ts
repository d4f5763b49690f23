/** GET and PUT /api/wallet/rules: what a wallet's calls may cost, which models they may use, and when to warn. */
import { usdNumber } from '../core/money.ts'
import { changeRules } from '../gateway/change-rules.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { webhookSecret } from '../gateway/wallet-alerts.ts'
import type { TopUpStatus } from '../store/funding/top-up-port.ts'
import type { Key } from '../tenancy/key.ts'
import { type RulesChange, shownRules, type WalletRules } from '../tenancy/wallet-rules.ts'
import { accountManagerOf, accountOf } from './caller.ts'
import { HelperRefusal } from './helper-refusal.ts'
import { json } from './reply.ts'
import type { Handler, HttpCall } from './route.ts'
import type { BodyHandler } from './with-body.ts'

export const getWalletRules: Handler = async (gateway, call) => {
  checkCredential(call)
  const key = await accountOf(gateway, call)
  const { rules } = await gateway.store.wallets.walletRules(key.walletId)
  return json(await shown(gateway, key, rules))
}

/** Answers once no process admits a call on the old rules. */
export const putWalletRules: BodyHandler<RulesChange> = async (gateway, call, body) => {
  checkCredential(call)
  const key = await accountManagerOf(gateway, call)
  const rules = await changeRules(gateway, { walletId: key.walletId, change: await body() })
  return json(await shown(gateway, key, rules))
}

/** The specification's own error string for a request without a credential. */
const checkCredential = (call: HttpCall): void => {
  if ((call.request.headers.get('authorization') ?? '').trim() === '')
    throw new HelperRefusal('unauthorized', "Send your key in the header 'Authorization: Bearer sk-…'.")
}

const shown = async (gateway: Gateway, key: Key, rules: WalletRules) => ({
  wallet_id: key.walletId,
  ...shownRules(rules),
  // A key that may not set the webhook's address does not get the secret that signs for it.
  alert_webhook_secret:
    rules.alertWebhookUrl === undefined || !key.canManage ? null : webhookSecret(gateway, key.walletId),
  auto_top_up_status: shownTopUps(await gateway.store.funding.topUpStatus(key.walletId)),
})

const shownTopUps = ({ saved, active, paused, waitsUntil, pending, today, month }: TopUpStatus) => ({
  payment_method_saved: saved,
  active,
  paused: paused ?? null,
  waits_until: waitsUntil === undefined ? null : new Date(waitsUntil).toISOString(),
  pending_usd: usdNumber(pending),
  charged_today_usd: usdNumber(today),
  charged_this_month_usd: usdNumber(month),
})
