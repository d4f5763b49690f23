/** Headers that every model call may carry beside its credential. */
export const callHeaders = [
  'X-Max-Cost-Usd',
  'Idempotency-Key',
  'X-Sub-Wallet',
  'X-Payment-Protocol',
  'X-Session-Id',
  'PAYMENT-SIGNATURE',
  'X-PAYMENT',
] as const
