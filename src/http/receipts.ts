/** Receipts: one call's receipt again, whether a receipt is good, and the keys with which anyone can find that out. */
import { parseJson } from '../core/json-body.ts'
import { refuse } from '../core/refusal.ts'
import type { Answer } from '../gateway/answer.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { issueReceipt, receiptKeysOf } from '../gateway/receipt.ts'
import { RECEIPT_LIFE_SECONDS } from '../receipts/claims.ts'
import { jwksOf } from '../receipts/keys.ts'
import { verifyReceipt as verdictOn } from '../receipts/token.ts'
import { callerOf } from './caller.ts'
import { HelperRefusal } from './helper-refusal.ts'
import { readSmallBody } from './read-body.ts'
import { json } from './reply.ts'
import type { HttpCall } from './route.ts'

const RETRY_SECONDS = 30

/** The receipt of a call by its request id, for the key that made it or one above that key. */
export const getReceipt = async (gateway: Gateway, call: HttpCall): Promise<Answer> => {
  const caller = await callerOf(gateway, call)
  const { receipts, store, clock } = gateway
  const charged = receipts === undefined ? undefined : await store.chargedCall(call.params.id ?? '')
  if (receipts === undefined || charged === undefined) throw noReceipt()
  if (charged.at + RECEIPT_LIFE_SECONDS * 1000 < clock.now()) throw noReceipt()
  const owner = charged.keyId === caller.id ? caller : await store.key(charged.keyId)
  if (owner === undefined || (owner.id !== caller.id && !owner.ancestors.includes(caller.id)))
    throw noReceipt()
  // What was deleted, or charged while receipts were off, cannot be vouched for.
  if (charged.posted !== 'recovered' && charged.detail?.receipt === undefined) throw noReceipt()
  const receipt = issueReceipt(receipts, charged)
  if (receipt === undefined) throw noReceipt()
  return json({ receipt, claims: claimsIn(receipt) })
}

const claimsIn = (receipt: string) =>
  parseJson(Buffer.from(receipt.split('.')[1] ?? '', 'base64url').toString())

const noReceipt = () =>
  refuse(
    'not_found',
    'There is no receipt under this request id: the call is still open, was not charged, is older than 90 days, or is not yours.',
  )

/** Judges a receipt: 200 with `valid`, whatever is wrong with it. */
export const verifyReceipt = async (gateway: Gateway, call: HttpCall): Promise<Answer> => {
  await callerOf(gateway, call)
  const value = await readSmallBody(gateway, call)
  const { receipt } = value
  if (typeof receipt !== 'string' || receipt === '')
    throw new HelperRefusal('receipt_required', "Send the receipt as the string 'receipt'.")
  const keys = await receiptKeysOf(gateway)
  if (keys.size === 0)
    throw new HelperRefusal('verifier_not_configured', 'No receipt key is known; try again in 30 s.', {
      retry_after_seconds: RETRY_SECONDS,
    })
  const verdict = verdictOn(receipt, { keys, issuers: gateway.receipts?.issuers }, gateway.clock.now())
  return json(
    !verdict.valid && verdict.error === 'expired' ? { ...verdict, usable_for_disputes: false } : verdict,
  )
}

/** The public keys, for anyone. */
export const getJwks = async (gateway: Gateway): Promise<Answer> => {
  const answer = json(jwksOf((await gateway.receipts?.keys.published()) ?? []))
  return { ...answer, headers: { ...answer.headers, 'cache-control': 'public, max-age=300' } }
}
