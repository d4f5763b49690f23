/** Acts on batches, in whichever form of API they were made: what became of their lines, what they cost, and their cancelling. */
import { z } from 'zod'
import { namedObject } from '../../core/body.ts'
import { must, refuse } from '../../core/refusal.ts'
import { shownBatchId, summaryOf } from '../../gateway/batches/batch-summary.ts'
import { batchForms, onCaps } from '../../store/batches/batch-port.ts'
import type { BatchLine } from '../../store/reports/batch-lines.ts'
import { type Acting, act } from '../act.ts'
import { keyScope } from '../key-named.ts'
import { count, isoOf, name } from '../read.ts'
import { time, usd } from '../shown-key.ts'
import { scopeMembers, scopeOf } from './scope.ts'

const lines = z.object({
  total: z.int(),
  waiting: z.int(),
  sent: z.int().describe('At a vendor now'),
  succeeded: z.int(),
  errored: z.int(),
  stopped: z.int().describe('Never sent'),
})

const batchShown = namedObject('BatchSummary', {
  id: z.string(),
  object: z.literal('batch_summary'),
  key: z.object({ id: z.string(), label: z.string(), prefix: z.string() }),
  form: z.enum(batchForms).describe('The form of API in which it was made'),
  status: z
    .string()
    .describe('`in_progress`, `cancelling`, `finalizing`, `completed`, `cancelled` or `expired`'),
  endpoint: z.string().describe('Where each line would be sent as a call of its own'),
  on_cap: z.enum(onCaps),
  stopped_by: z
    .string()
    .nullable()
    .describe('Why lines were not sent: `cancelled`, `expired` or an error code'),
  lines,
  cost_usd: usd.describe('What its lines were charged so far'),
  input_tokens: z.int(),
  output_tokens: z.int(),
  created_at: time,
  expires_at: time.describe('Lines that wait longer are never sent'),
  ended_at: time.nullable(),
})

const shown = (batch: BatchLine): z.output<typeof batchShown> => ({
  ...summaryOf(batch, undefined),
  // A name with a slash would be two parts of an address.
  id: batch.form === 'gemini' ? batch.id : shownBatchId(batch),
  key: { id: batch.keyId, label: batch.label, prefix: batch.prefix },
  stopped_by: batch.stop ?? null,
  cost_usd: batch.charged,
  created_at: isoOf(batch.createdAt),
  expires_at: isoOf(batch.expiresAt),
})

/** The id in the ledger; each form writes its own word before it. */
const idOf = (shownId: string): string => shownId.replace(/^(?:msg)?batch_/, '')

/** The batch of that id, as any form shows it, if it is of a key that may be seen (`read`) or changed (`keys`). Throws the 404. */
export const batchNamed = async (
  acting: Acting,
  named: string,
  right: 'read' | 'keys',
): Promise<BatchLine> => {
  const { below, ...scope } = keyScope(acting, right)
  const [found] = await acting.control.store.reports.batches({
    ...scope,
    ...(below === undefined ? {} : { tree: below }),
    id: idOf(named),
    most: 1,
  })
  const none = 'There is no batch of this id, it is not yours, or it is no longer kept (BATCH_DAYS).'
  return must(found ?? refuse('not_found', none))
}

export const batchList = act({
  name: 'batch.list',
  summary: 'The batches in reach, newest first, in whichever form of API they were made.',
  reads: ['read', 'read_own'],
  input: {
    ...scopeMembers,
    after: name.optional().describe('The `id` of the last one before'),
    limit: count(1, 500),
  },
  shows: namedObject('BatchSummaryList', { data: z.array(batchShown), has_more: z.boolean() }),
  does: async (acting, { after, limit = 50, ...scope }) => {
    const found = await acting.control.store.reports.batches({
      ...(await scopeOf(acting, scope)),
      ...(after === undefined ? {} : { after: idOf(after) }),
      most: limit + 1,
    })
    return { data: found.slice(0, limit).map(shown), has_more: found.length > limit }
  },
})

export const batchGet = act({
  name: 'batch.get',
  summary: 'One batch: its state, its lines by how they stand, and what they cost.',
  reads: ['read', 'read_own'],
  input: { batch: name },
  shows: batchShown,
  does: async (acting, { batch }) => shown(await batchNamed(acting, batch, 'read')),
})

export const batchCancel = act({
  name: 'batch.cancel',
  summary: 'Cancels a batch: lines that were sent end, others never are. One that has ended stays as it is.',
  changes: ['keys', 'keys_own'],
  input: { batch: name },
  shows: batchShown,
  does: async (acting, { batch: named }) => {
    const batch = await batchNamed(acting, named, 'keys')
    const { batches } = acting.control.store
    const by = { actor: acting.who.actor, subject: shownBatchId(batch) }
    if (!(await batches.cancel(batch.id, by))) acting.unchanged?.()
    return shown(await batchNamed(acting, named, 'keys'))
  },
})
