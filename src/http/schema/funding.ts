/** Claims of change, payments of invoices and events of Stripe in the API reference. */
import { z } from 'zod'
import { checkoutOpen } from '../../control/money/checkouts.ts'
import { invoice } from '../../control/money/invoices.ts'
import { namedObject } from '../../core/body.ts'

export const received = namedObject('Received', {
  received: z.literal(true),
  outcome: z.enum(['done', 'replayed', 'ignored']),
})

export const claimAnswer = namedObject('ClaimAnswer', { data: z.object({ credited_usd: z.number() }) })

export const paymentAnswer = z
  .union([
    z.object({
      data: invoice,
      credited_usd: z.number().describe('The part of an x402 payment that went to the wallet').optional(),
    }),
    checkoutOpen.shows,
  ])
  .meta({ id: 'PaymentAnswer' })
