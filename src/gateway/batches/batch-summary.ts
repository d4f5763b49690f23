/** A batch as every face shows it, whichever form it was made in. */
import { decimalFromNano, type Nano } from '../../core/money.ts'
import { monthOf } from '../../core/time.ts'
import type { Batch } from '../../store/batches/batch-port.ts'
import { type Told, tellsNothing, termsIn, told } from '../../tenancy/terms.ts'

const batchStatuses = [
  'in_progress',
  'cancelling',
  'finalizing',
  'completed',
  'cancelled',
  'expired',
] as const
type BatchStatus = (typeof batchStatuses)[number]

export const statusOf = ({ state, stop, cancelAt }: Batch): BatchStatus => {
  if (state === 'ended') return stop === 'cancelled' || stop === 'expired' ? stop : 'completed'
  if (state === 'finalizing') return 'finalizing'
  return cancelAt === undefined ? 'in_progress' : 'cancelling'
}

const prefixes = { openai: 'batch_', anthropic: 'msgbatch_', gemini: 'batches/' } as const

/** Its id as callers of its form know it. */
export const shownBatchId = ({ form, id }: Pick<Batch, 'form' | 'id'>): string => `${prefixes[form]}${id}`

/** A time as ISO 8601. */
export const isoOf = (at: number | undefined): string | null =>
  at === undefined ? null : new Date(at).toISOString()

/** What it was charged so far, as a key is told that: at the price of the month in which it began, also in a later one. */
export const chargedTold = ({ charged, createdAt }: Batch, terms: Told): Nano =>
  told(charged, terms && termsIn(terms, monthOf(createdAt)))

/** Its state, its lines by how they stand, and what they were charged, as the key that made it is told that. */
export const summaryOf = (batch: Batch, terms: Told) => {
  const { form, asked, onCap, stop } = batch
  const { total, waiting, sent, succeeded, errored, stopped } = batch
  return {
    id: shownBatchId(batch),
    object: 'batch_summary' as const,
    form,
    status: statusOf(batch),
    endpoint: asked.endpoint,
    on_cap: onCap,
    ...(stop === undefined ? {} : { stopped_by: stop }),
    lines: { total, waiting, sent, succeeded, errored, stopped },
    ...(tellsNothing(terms) ? {} : { cost_usd: decimalFromNano(chargedTold(batch, terms)) }),
    input_tokens: batch.inputTokens,
    output_tokens: batch.outputTokens,
    created_at: isoOf(batch.createdAt),
    expires_at: isoOf(batch.expiresAt),
    ended_at: isoOf(batch.endedAt),
  }
}
