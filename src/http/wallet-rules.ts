/** GET and PUT /api/wallet/rules: what calls of a wallet may cost, which models they may use, and when to warn. */
import { publicHttpsUrl } from '../core/address.ts'
import { decimalFromNano, usdNumber } from '../core/money.ts'
import { invalid, must } from '../core/refusal.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { webhookSecret } from '../gateway/wallet-alerts.ts'
import type { TopUpStatus } from '../store/top-up-port.ts'
import type { Key } from '../tenancy/key.ts'
import { withModelIds } from '../tenancy/model-patterns.ts'
import { type AutoTopUp, readRulesBody, shownRules, type WalletRules } from '../tenancy/wallet-rules.ts'
import { accountManagerOf, accountOf } from './caller.ts'
import { HelperRefusal } from './helper-refusal.ts'
import { readSmallBody } from './read-body.ts'
import { json } from './reply.ts'
import type { Handler, HttpCall } from './route.ts'

export const getWalletRules: Handler = async (gateway, call) => {
  checkCredential(call)
  const key = await accountOf(gateway, call)
  const { rules } = await gateway.store.walletRules(key.walletId)
  return json(await shown(gateway, key, rules))
}

/** Answers when no process admits a call on the older rules any more. */
export const putWalletRules: Handler = async (gateway, call) => {
  checkCredential(call)
  const key = await accountManagerOf(gateway, call)
  const asked = must(readRulesBody(await readSmallBody(gateway, call), publicHttpsUrl))
  const change = must(withModelIds(asked, gateway.catalogue))
  if (change.autoTopUp) await checkTopUp(gateway, key, change.autoTopUp)
  const { known, at } = await gateway.store.changeWalletRules(key.walletId, change)
  await gateway.book.untilKnown(at)
  return json(await shown(gateway, key, known.rules))
}

/** The specification's own word for a request without a credential. */
const checkCredential = (call: HttpCall): void => {
  if ((call.request.headers.get('authorization') ?? '').trim() === '')
    throw new HelperRefusal('unauthorized', "Send your key in the header 'Authorization: Bearer sk-…'.")
}

/** A rule that could never charge is refused, so that nobody relies on it. */
const checkTopUp = async (gateway: Gateway, key: Key, { amount }: AutoTopUp): Promise<void> => {
  const { stripe, store } = gateway
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
  if (!(await store.topUpStatus(key.walletId)).saved)
    throw invalid(
      'auto_top_up',
      'The wallet has no saved payment method. Save one first: POST /api/wallet/checkout with ' +
        '{"amount_usd": 25, "save_payment_method": true}, pay at its url, and set the rule then.',
    )
}

const shown = async (gateway: Gateway, key: Key, rules: WalletRules) => ({
  wallet_id: key.walletId,
  ...shownRules(rules),
  // Who may not set the address need not be able to sign for it.
  alert_webhook_secret:
    rules.alertWebhookUrl === undefined || !key.canManage ? null : webhookSecret(gateway, key.walletId),
  auto_top_up_status: shownTopUps(await gateway.store.topUpStatus(key.walletId)),
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
