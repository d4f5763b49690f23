/** Checkouts, claims of change and post-paid billing in the API reference. */
import { z } from 'zod'

export const checkout = z
  .object({
    id: z.string(),
    url: z.string(),
    amount_usd: z.number(),
    consent: z.string().describe('What the payer of a checkout that saves the card agrees to').optional(),
  })
  .meta({ id: 'Checkout' })

export const checkoutState = z
  .object({
    id: z.string(),
    status: z.enum(['open', 'paid']),
    amount_usd: z.number(),
    invoice: z.string().nullable(),
  })
  .meta({ id: 'CheckoutState' })

export const methodDeleted = z.object({ deleted: z.literal(true) }).meta({ id: 'MethodDeleted' })

export const received = z
  .object({ received: z.literal(true), outcome: z.enum(['done', 'replayed', 'ignored']) })
  .meta({ id: 'Received' })

export const claimAnswer = z
  .object({ data: z.object({ credited_usd: z.number() }) })
  .meta({ id: 'ClaimAnswer' })

const time = z.string().meta({ format: 'date-time' })

const invoice = z
  .object({
    id: z.string(),
    month: z.string(),
    status: z.enum(['open', 'past_due', 'paid', 'nothing_due']),
    brought_usd: z.number(),
    used_usd: z.number(),
    total_usd: z.number().describe('In whole cents'),
    carried_usd: z.number(),
    issued_at: time,
    due_at: time,
    paid_at: time.nullable(),
  })
  .meta({ id: 'Invoice' })

export const billing = z
  .object({
    data: z.object({
      wallet: z.string(),
      status: z.enum(['none', 'active', 'past_due', 'withdrawn']),
      limit_usd: z.number().optional(),
      owed_usd: z.number().optional(),
      held_usd: z.number().optional(),
      available_usd: z.number().optional(),
      net_days: z.int().optional(),
      invoices: z.array(invoice),
    }),
  })
  .meta({ id: 'Billing' })

export const statement = z
  .object({
    data: z.object({
      wallet: z.string(),
      month: z.string(),
      opening_usd: z.number(),
      used_usd: z.number(),
      paid_usd: z.number(),
      closing_usd: z.number(),
      lines: z.array(
        z.object({
          key: z.string(),
          label: z.string(),
          model: z.string(),
          requests: z.int(),
          input_tokens: z.int(),
          output_tokens: z.int(),
          amount_usd: z.number(),
        }),
      ),
      invoice: invoice.nullable(),
    }),
  })
  .meta({ id: 'Statement' })

export const paymentAnswer = z
  .union([
    z.object({
      data: invoice,
      credited_usd: z.number().describe('The part of an x402 payment that went to the wallet').optional(),
    }),
    checkout,
  ])
  .meta({ id: 'PaymentAnswer' })
