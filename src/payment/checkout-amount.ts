/** The amount of one payment at Stripe's Checkout, as a member of a body. */
import { usd } from '../core/body.ts'
import type { Nano } from '../core/money.ts'
import { CENT } from '../ledger/invoice.ts'

/** Stripe takes no smaller amount. */
export const CHECKOUT_LEAST: Nano = 50n * CENT
const CHECKOUT_MOST: Nano = 1_000_000n * CENT

const payable = 'must be a number of USD from 0.5 to 10000, in whole cents'

export const checkoutAmount = usd(payable)
  .refine((amount) => amount >= CHECKOUT_LEAST && amount <= CHECKOUT_MOST && amount % CENT === 0n, payable)
  .meta({ minimum: 0.5, maximum: 10_000, description: 'In whole cents' })
