/**
 * Exports calls while a server runs, without slowing calls: each at least once, in batches, with the call's id as the
 * key.
 */
import type { Log } from '../core/log.ts'
import { messageOf } from '../core/message-of.ts'
import { decimalFromNano } from '../core/money.ts'
import type { Clock } from '../core/time.ts'
import type { CallRecord, ExportStore } from '../store/exports/export-port.ts'
import type { Sink } from './sinks.ts'

const instant = (at: number): string => new Date(at).toISOString()

/** The line, with its line end. Amounts are decimal texts of USD; times are in UTC. */
const lineOf = ({ id, at, keyId, orgId, payer, amount, detail }: CallRecord): string =>
  `${JSON.stringify({
    id,
    charged_at: instant(at),
    organization_id: orgId,
    wallet_id: payer,
    key_id: keyId,
    charged_usd: decimalFromNano(amount),
    ...(detail === undefined
      ? {}
      : {
          model: detail.model,
          vendor: detail.vendor,
          usage: detail.usage,
          estimated: detail.estimated,
          started_at: instant(detail.startedAt),
          took_ms: detail.tookMs,
          first_byte_ms: detail.firstByteMs,
          ended: detail.ended,
          price_version: detail.priceVersion,
        }),
  })}\n`

type ExportParts = {
  readonly store: ExportStore
  readonly sink: Sink
  readonly clock: Clock
  readonly log: Log
  /** How long it waits when everything is exported. */
  readonly everyMs: number
}

/** The state of the export, for the metrics. */
export type Exporting = {
  /** Age of the oldest call that was not exported at the last look. */
  readonly lagMs: () => number
  /** Failed attempts since the last success. */
  readonly failures: () => number
}

/** Calls in a batch, read and sent together. */
const BATCH_MAX = 500
/** If a process dies with a batch, others take it after this time, which is longer than any sink may take. */
const CLAIM_MS = 300_000
const LONGEST_PAUSE_MS = 60_000

/** Runs until it is stopped; several servers may do it at once. */
export const keepExporting = (parts: ExportParts): Exporting & { readonly stop: () => void } => {
  const { clock, log, everyMs } = parts
  let stopped = false
  let failures = 0
  let oldest: number | undefined
  const state = {
    saw: (at: number | undefined) => {
      oldest = at
    },
  }
  const run = async (): Promise<void> => {
    while (!stopped) {
      let more = false
      try {
        more = await exportBatch(parts, state)
        failures = 0
      } catch (error) {
        failures++
        log.warn('calls could not be exported; they are kept and sent again', { error: messageOf(error) })
      }
      if (!more) await clock.sleep(Math.min(everyMs * 2 ** Math.min(failures, 10), LONGEST_PAUSE_MS))
    }
  }
  void run()
  return {
    lagMs: () => (oldest === undefined ? 0 : Math.max(0, clock.now() - oldest)),
    failures: () => failures,
    stop: () => {
      stopped = true
    },
  }
}

/** Exports one batch; returns whether there may be more at once. What the sink did not take is released. */
const exportBatch = async (
  { store, sink }: ExportParts,
  state: { readonly saw: (at: number | undefined) => void },
): Promise<boolean> => {
  const records = await store.claimExports(BATCH_MAX, CLAIM_MS)
  const [first] = records
  state.saw(first?.at)
  if (first === undefined) return false
  const ids = records.map(({ id }) => id)
  try {
    await sink({ lines: records.map(lineOf).join(''), first: first.id, at: first.at })
  } catch (error) {
    // If this fails too, the claim expires by itself.
    await store.releaseExports(ids).catch(() => undefined)
    throw error
  }
  await store.exported(ids)
  return records.length === BATCH_MAX
}
