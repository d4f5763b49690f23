/** Receipts in the API reference. */
import { z } from 'zod'
import { HelperRefusal } from '../helper-refusal.ts'

const claims = z.looseObject({}).describe('docs/receipts.md')

export const receipt = z
  .object({ receipt: z.string().describe('A JWT of type receipt+jwt'), claims })
  .meta({ id: 'Receipt' })

export const receiptToVerify = z.object({ receipt: z.string().min(1) }).meta({ id: 'ReceiptToVerify' })

export type ReceiptToVerify = z.output<typeof receiptToVerify>

export const wrongReceipt = (): HelperRefusal =>
  new HelperRefusal('receipt_required', "Send the receipt as the string 'receipt'.")

export const receiptVerdict = z
  .object({
    valid: z.boolean(),
    error: z.enum(['malformed_jwt', 'signature_mismatch', 'expired']).optional(),
    claims: claims.optional(),
    kid: z.string().optional(),
    usable_for_disputes: z.literal(false).optional(),
  })
  .meta({ id: 'ReceiptVerdict' })

export const keySet = z
  .object({
    keys: z.array(
      z.object({
        kty: z.literal('OKP'),
        crv: z.literal('Ed25519'),
        x: z.string(),
        kid: z.string(),
        use: z.literal('sig'),
        alg: z.literal('EdDSA'),
      }),
    ),
  })
  .meta({ id: 'KeySet' })
