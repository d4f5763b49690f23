/** Payment modes: which account funds the hold of a call. Today there is one, the wallet of the key's organisation. */
import { invalid, type Refusal } from '../core/refusal.ts'

export type PaymentMode = 'wallet'

/** The mode a call asks for in `X-Payment-Protocol`; absent means the wallet. */
export const paymentMode = (header: string | undefined): PaymentMode | Refusal =>
  header === undefined || header === 'wallet'
    ? 'wallet'
    : invalid('X-Payment-Protocol', 'This server takes payment from the wallet only; leave the header out.')
