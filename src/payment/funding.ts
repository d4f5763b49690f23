/**
 * Payment modes: which account funds the hold of a call. It is the wallet of the key's organisation, the credit line
 * beside it, or a payment made for this one call.
 */
import { invalid, type Refusal, refuse } from '../core/refusal.ts'
import { type AccountId, creditAccountOf } from '../ledger/types.ts'
import type { Key } from '../tenancy/key.ts'
import type { PaymentHeaders } from './x402/presented.ts'

export type PaymentMode = 'wallet' | 'mpp' | 'x402'

/**
 * The mode that a call asks for in `X-Payment-Protocol` or by bringing a payment; the wallet by default. With a key `mpp` is
 * the credit line; a credential of the scheme `Payment`, which others call MPP too, stands where a key would.
 */
export const paymentMode = (
  header: string | undefined,
  payment: PaymentHeaders | undefined,
): PaymentMode | Refusal => {
  if (payment?.mpp !== undefined && (header === undefined || header === 'mpp')) return 'x402'
  if (header === 'wallet' || header === 'mpp' || header === 'x402') return header
  if (header === undefined) return bringsPayment(payment) ? 'x402' : 'wallet'
  return invalid(
    'X-Payment-Protocol',
    "'X-Payment-Protocol' must be wallet, mpp or x402; leave it out to pay from the wallet.",
  )
}

/** Whether a request brings a payment. */
export const bringsPayment = (payment: PaymentHeaders | undefined): boolean =>
  payment?.v1 !== undefined || payment?.v2 !== undefined || payment?.mpp !== undefined

/** The 402 of a server that does not take payments call by call. */
export const x402Unavailable = (): Refusal =>
  refuse(
    'payment_mode_unavailable',
    'This server takes no x402 payments. Pay from a wallet instead: send your key as `Authorization: Bearer sk-…`, ' +
      'without X-Payment-Protocol and without a payment header; the operator of the server funds wallets.',
    { members: { payment_modes: 'wallet, mpp' } },
  )

/** The account that pays for the key's call in this mode; undefined for the key's own wallet. */
export const payingAccount = (mode: PaymentMode, key: Key): AccountId | undefined =>
  mode === 'mpp' ? creditAccountOf(key.walletId) : undefined
