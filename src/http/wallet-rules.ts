/** GET and PUT /api/wallet/rules: what calls of a wallet may cost, which models they may use, and when to warn. */
import { publicHttpsUrl } from '../core/address.ts'
import { must } from '../core/refusal.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { webhookSecret } from '../gateway/wallet-alerts.ts'
import type { Key } from '../tenancy/key.ts'
import { readRulesBody, shownRules, type WalletRules } from '../tenancy/wallet-rules.ts'
import { accountOf } from './caller.ts'
import { HelperRefusal } from './helper-refusal.ts'
import { readSmallBody } from './read-body.ts'
import { json } from './reply.ts'
import type { Handler, HttpCall } from './route.ts'

export const getWalletRules: Handler = async (gateway, call) => {
  const key = await ruler(gateway, call)
  const { rules } = await gateway.store.walletRules(key.walletId)
  return json(shown(gateway, key, rules))
}

/** Answers when no process admits a call on the older rules any more. */
export const putWalletRules: Handler = async (gateway, call) => {
  const key = await ruler(gateway, call)
  const change = must(readRulesBody(await readSmallBody(call.request), publicHttpsUrl))
  const { known, at } = await gateway.store.changeWalletRules(key.walletId, change)
  await gateway.book.untilKnown(at)
  return json(shown(gateway, key, known.rules))
}

const ruler = (gateway: Gateway, call: HttpCall): Promise<Key> => {
  if ((call.request.headers.get('authorization') ?? '').trim() === '')
    throw new HelperRefusal(401, 'Unauthorized', "Send your key in the header 'Authorization: Bearer sk-…'.")
  return accountOf(gateway, call)
}

const shown = (gateway: Gateway, key: Key, rules: WalletRules) => ({
  wallet_id: key.walletId,
  ...shownRules(rules),
  alert_webhook_secret: rules.alertWebhookUrl === undefined ? null : webhookSecret(gateway, key.walletId),
})
