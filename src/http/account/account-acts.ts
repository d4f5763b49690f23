/** Sub-wallets, rules, checks of receipts, and bills for callers with a key: rows of the control plane, in the specification's words for errors. */

import * as acts from '../../control/acts.ts'
import { whoIsKey } from '../../control/who.ts'
import type { JsonObject } from '../../core/json-body.ts'
import { invalid, type Refusal } from '../../core/refusal.ts'
import { monthOf } from '../../core/time.ts'
import { takeTurn } from '../../gateway/enter/key-turn.ts'
import { HelperRefusal } from '../answer/helper-refusal.ts'
import { anyCallerOf, callerOf } from '../request/caller.ts'
import { originOfCall } from '../request/origin.ts'
import { at, type Route } from '../route/route.ts'
import { type ActRow, actRoute } from './act-route.ts'

const byKey = (caller: typeof anyCallerOf, helper: boolean) =>
  actRoute({
    auth: 'bearer',
    money: 'number',
    ...(helper ? { helper } : {}),
    asking: async (gateway, call) => {
      const key = await caller(gateway, call)
      return {
        who: whoIsKey(key, monthOf(gateway.clock.now()), originOfCall(gateway, call)),
        turn: () => takeTurn(gateway, key, call.trace),
      }
    },
  })

const RETRY_SECONDS = 30

const ofReceipts = ({ code, members }: Refusal): HelperRefusal | undefined => {
  if (members.param === 'receipt')
    return new HelperRefusal('receipt_required', "Send the receipt as the string 'receipt'.")
  return code === 'not_found'
    ? new HelperRefusal('verifier_not_configured', 'No receipt key is known; try again in 30 s.', {
        retry_after_seconds: RETRY_SECONDS,
      })
    : undefined
}

const wrongBudget = () =>
  new HelperRefusal(
    'budget_out_of_range',
    "'budget_usd' is a number of USD: the most that calls under the sub-wallet may cost in all.",
    { param: 'budget_usd' },
  )

/** Amounts are numbers at these addresses, not their texts. */
const amountsAreNumbers = (sent: JsonObject): void => {
  for (const [name, value] of Object.entries(sent))
    if (name.endsWith('_usd') && typeof value === 'string')
      throw invalid(name, `'${name}' must be a number of USD.`)
}

const ofSubWallets = ({ code, message, members }: Refusal): HelperRefusal | undefined => {
  if (code === 'not_found') return new HelperRefusal('unknown_sub_wallet', message)
  return members.param === 'budget_usd' ? wrongBudget() : undefined
}

/** The specification's own error string for a request without a credential. */
const ofRules = ({ code }: Refusal): HelperRefusal | undefined =>
  code === 'missing_authorization'
    ? new HelperRefusal('unauthorized', "Send your key in the header 'Authorization: Bearer sk-…'.")
    : undefined

const subWallets = '/api/wallet/sub-wallets'
const one = { path: `${subWallets}/:id`, params: { id: 'sub_wallet' } }
const rules = '/api/wallet/rules'

const rows: readonly ActRow[] = [
  {
    method: 'POST',
    path: subWallets,
    act: acts.subWalletCreate,
    lenient: true,
    bodyName: 'NewSubWallet',
    statuses: [201],
    instead: ofSubWallets,
  },
  {
    method: 'GET',
    path: subWallets,
    summary: 'The sub-wallets that the key sees, newest first.',
    act: acts.subWalletList,
  },
  { method: 'GET', ...one, act: acts.subWalletGet, instead: ofSubWallets },
  {
    method: 'PATCH',
    ...one,
    act: acts.subWalletChange,
    bodyName: 'SubWalletChange',
    instead: ofSubWallets,
  },
  { method: 'DELETE', ...one, act: acts.subWalletDelete, instead: ofSubWallets },
  { method: 'GET', path: rules, act: acts.rulesGet, instead: ofRules },
  {
    method: 'PUT',
    path: rules,
    act: acts.rulesChange,
    headers: { 'If-Match': 'if_version' },
    bodyName: 'WalletRulesChange',
    instead: ofRules,
  },
]

const billing: readonly ActRow[] = [
  {
    ...at('POST /api/wallet/checkout'),
    summary:
      "Opens a checkout of Stripe that funds the key's wallet, and saves the card for its auto_top_up rule if requested; 404 if the operator has not set up Stripe.",
    act: acts.checkoutOpen,
    lenient: true,
    bodyName: 'CheckoutRequest',
    statuses: [201],
    counts: 'request',
  },
  { method: 'DELETE', path: '/api/wallet/payment-method', act: acts.cardForget, counts: 'request' },
  { method: 'GET', path: '/api/billing', act: acts.billingGet, data: 'Billing' },
  { method: 'GET', path: '/api/billing/statements/:month', act: acts.billingStatement, data: 'Statement' },
]

/** The key says which wallet. */
const without = ['organisation', 'wallet']

export const accountActRoutes: readonly Route[] = [
  ...rows.map((row) => byKey(callerOf, true)({ ...row, without, demands: amountsAreNumbers })),
  ...billing.map((row) => byKey(callerOf, false)({ ...row, without })),
  // A key that is disabled still checks its receipts.
  byKey(
    anyCallerOf,
    true,
  )({
    ...at('POST /api/receipts/verify'),
    summary: 'Whether a receipt is valid; always 200.',
    act: acts.receiptCheck,
    lenient: true,
    bodyName: 'ReceiptToVerify',
    instead: ofReceipts,
  }),
]
