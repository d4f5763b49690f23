/** Credits: the operator's unit for showing money. Never stored, never read back. */
import type { Nano } from '../core/money.ts'

const SCALE = 1_000_000n

/** Amounts in credits, to six decimals, rounded down. */
export const creditsOf =
  (gateway: { readonly options: { readonly creditNano: Nano } }) =>
  (amount: Nano): number =>
    Number((amount * SCALE) / gateway.options.creditNano) / Number(SCALE)
