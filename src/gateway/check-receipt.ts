/** Checks receipts and issues a call's receipt again, for callers with a key and for signed-in people. */
import { refuse } from '../core/refusal.ts'
import { RECEIPT_LIFE_SECONDS } from '../receipts/claims.ts'
import { verifyReceipt } from '../receipts/token.ts'
import type { Key } from '../tenancy/key.ts'
import type { Gateway } from './gateway.ts'
import { issueReceipt, receiptKeysOf } from './receipt.ts'

const noReceipt = () =>
  refuse(
    'not_found',
    'There is no receipt under this request id: the call is still open, was not charged, is older than 90 days, or is not yours.',
  )

/** The receipt of a call made with a matching key; throws the 404 for every other call. */
export const receiptOf = async (
  gateway: Gateway,
  callId: string,
  fits: (owner: Key) => boolean,
): Promise<string> => {
  const { receipts, store, clock } = gateway
  const charged = receipts === undefined ? undefined : await store.receipts.chargedCall(callId)
  if (receipts === undefined || charged === undefined) throw noReceipt()
  if (charged.at + RECEIPT_LIFE_SECONDS * 1000 < clock.now()) throw noReceipt()
  const owner = await store.keys.key(charged.keyId)
  if (owner === undefined || !fits(owner)) throw noReceipt()
  // A call has no receipt if its record was deleted or it was charged while receipts were off.
  if (charged.posted !== 'recovered' && charged.detail?.receipt === undefined) throw noReceipt()
  const receipt = issueReceipt(receipts, charged)
  if (receipt === undefined) throw noReceipt()
  return receipt
}

/** The verdict on a receipt; undefined where no key is known to check it with. */
export const judgeReceipt = async (gateway: Gateway, receipt: string) => {
  const keys = await receiptKeysOf(gateway)
  if (keys.size === 0) return undefined
  const verdict = verifyReceipt(receipt, { keys, issuers: gateway.receipts?.issuers }, gateway.clock.now())
  return !verdict.valid && verdict.error === 'expired' ? { ...verdict, usable_for_disputes: false } : verdict
}
