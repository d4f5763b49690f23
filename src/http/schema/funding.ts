/** Claims of change, payments of invoices and events of Stripe in the API reference. */
import { z } from 'zod'
import { checkoutOpen } from '../../control/money/checkouts.ts'
import { invoice } from '../../control/money/invoices.ts'

export const received = z
  .object({ received: z.literal(true), outcome: z.enum(['done', 'replayed', 'ignored']) })
  .meta({ id: 'Received' })

export const claimAnswer = z
  .object({ data: z.object({ credited_usd: z.number() }) })
  .meta({ id: 'ClaimAnswer' })

export const paymentAnswer = z
  .union([
    z.object({
      data: invoice,
      credited_usd: z.number().describe('The part of an x402 payment that went to the wallet').optional(),
    }),
    checkoutOpen.shows,
  ])
  .meta({ id: 'PaymentAnswer' })
