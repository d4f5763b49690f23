/**
 * Receipts: issuing a call's receipt again, checking a receipt, and the public keys with which anyone can check one.
 */
import { parseJson } from '../core/json-body.ts'
import type { Answer } from '../gateway/answer.ts'
import { judgeReceipt, receiptOf } from '../gateway/check-receipt.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { jwksOf } from '../receipts/keys.ts'
import { anyCallerOf } from './caller.ts'
import { HelperRefusal } from './helper-refusal.ts'
import { json } from './reply.ts'
import type { HttpCall } from './route.ts'
import type { ReceiptToVerify } from './schema/receipts.ts'
import type { BodyHandler } from './with-body.ts'

const RETRY_SECONDS = 30

/** The receipt of a call by its request id, for the key that made the call or a key above it, disabled or not. */
export const getReceipt = async (gateway: Gateway, call: HttpCall): Promise<Answer> => {
  const caller = await anyCallerOf(gateway, call)
  const receipt = await receiptOf(
    gateway,
    call.params.id ?? '',
    (owner) => owner.id === caller.id || owner.above.includes(caller.id),
  )
  return json({ receipt, claims: claimsIn(receipt) })
}

const claimsIn = (receipt: string) =>
  parseJson(Buffer.from(receipt.split('.')[1] ?? '', 'base64url').toString())

/** Checks a receipt: always a 200, with `valid` and, if that is false, the reason. */
export const verifyReceipt: BodyHandler<ReceiptToVerify> = async (gateway, call, body) => {
  await anyCallerOf(gateway, call)
  const { receipt } = await body()
  const verdict = await judgeReceipt(gateway, receipt)
  if (verdict === undefined)
    throw new HelperRefusal('verifier_not_configured', 'No receipt key is known; try again in 30 s.', {
      retry_after_seconds: RETRY_SECONDS,
    })
  return json(verdict)
}

/** The public keys, for anyone. */
export const getJwks = async (gateway: Gateway): Promise<Answer> => {
  const answer = json(jwksOf((await gateway.receipts?.keys.published()) ?? []))
  return { ...answer, headers: { ...answer.headers, 'cache-control': 'public, max-age=300' } }
}
