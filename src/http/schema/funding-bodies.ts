/** Bodies about money: claims of change, payments of invoices. */
import { z } from 'zod'
import { namedObject } from '../../core/body.ts'
import { HelperRefusal } from '../answer/helper-refusal.ts'

export const paymentRequest = namedObject('PaymentRequest', {
  method: z.enum(['wallet', 'stripe', 'x402'], 'must be wallet, stripe or x402').optional(),
})

export type PaymentRequest = z.output<typeof paymentRequest>

/** If both are present, the claim counts. */
export const claimOfChange = z
  .union([
    z.object({ claim: z.string().describe('The X-Change-Claim of the answer') }),
    z.object({ receipt: z.string().describe('Or the receipt of the answer') }),
  ])
  .meta({ id: 'Claim' })

export type ClaimOfChange = z.output<typeof claimOfChange>

export const wrongClaim = (): HelperRefusal =>
  new HelperRefusal(
    'claim_required',
    'Send {"claim": …} with the X-Change-Claim of the answer, or {"receipt": …} with its receipt.',
  )
