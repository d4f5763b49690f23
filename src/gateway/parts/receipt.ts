/**
 * Receipts of calls. The facts of a receipt are kept with the charge, so it can be issued at any time. Signing takes
 * about 20 µs; operators who do not want to spend that on every call have receipts signed on request.
 */
import type { KeyObject } from 'node:crypto'
import type { Nano } from '../../core/money.ts'
import type { ChargedCall, UsageDetail } from '../../ledger/types.ts'
import { bodyHash, claimsOf, priceClaimsOf } from '../../receipts/claims.ts'
import { signReceipt } from '../../receipts/token.ts'
import { type Told, tellsNothing } from '../../tenancy/terms.ts'
import type { Gateway, Receipts } from './gateway.ts'
import type { Billed } from './task.ts'

/** Larger bodies take so long to hash that we do it while the vendor works, not before its answer goes out. */
const LARGE_BYTES = 16 * 1024

/** The request's fingerprint, computed on first use; for a large body, once the vendor has been asked. */
export const requestHasher = (gateway: Gateway, sent: Uint8Array): (() => string) => {
  // Without receipts it is hardly ever needed.
  if (gateway.receipts === undefined) return () => bodyHash(sent)
  let hash: string | undefined
  const make = () => {
    hash ??= bodyHash(sent)
    return hash
  }
  if (sent.length >= LARGE_BYTES) void gateway.clock.turn().then(make)
  return make
}

/** The receipt that goes out with the answer, if answers carry one. It is sent only once the charge is durable. */
export const receiptFor = (
  gateway: Gateway,
  task: Pick<Billed, 'trace' | 'payer' | 'key'>,
  detail: UsageDetail,
  charged: Nano,
): string | undefined => {
  if (gateway.receipts?.inAnswers !== true || detail.receipt === undefined) return undefined
  const { callId } = task.trace
  const call: ChargedCall = {
    callId,
    keyId: detail.keyId,
    charged,
    payer: task.payer ?? task.key.walletId,
    at: detail.startedAt + detail.tookMs,
    posted: 'as settled',
    detail,
  }
  return issueReceipt(gateway.receipts, call, task.key.terms)
}

/** The keys that check receipts, by name; none if receipts are off. */
export const receiptKeysOf = async ({
  receipts,
}: Pick<Gateway, 'receipts'>): Promise<ReadonlyMap<string, KeyObject>> =>
  new Map(((await receipts?.keys.published()) ?? []).map(({ kid, key }) => [kid, key]))

/**
 * The receipt of a charged call, for a tenant by the terms of the month that the call counts in; undefined when there is no
 * key to sign with, or no money is told.
 */
export const issueReceipt = (receipts: Receipts, call: ChargedCall, terms?: Told): string | undefined => {
  const signer = receipts.keys.signer()
  if (signer === undefined) return undefined
  const [issuer] = receipts.issuers
  if (terms === undefined) return signReceipt(claimsOf(issuer, call), signer)
  if (tellsNothing(terms)) return undefined
  return signReceipt(priceClaimsOf(issuer, call, terms), signer)
}
