/**
 * How long a vendor was asked, and with what outcome: for the metrics, and to tell the vendor's share of a call's time
 * from ours.
 */
import type { FailedAttempt } from '../../routing/failed-attempt.ts'
import { providerName } from '../parts/end-span.ts'
import type { Gateway } from '../parts/gateway.ts'
import type { Trace } from '../parts/trace.ts'

type AttemptParts = Pick<Gateway, 'clock' | 'watch'> & { readonly store: Pick<Gateway['store'], 'engine'> }

/** An answer that is read within this time after a commit has waited for that commit. */
const SOON_MS = 0.5

/**
 * When an answer that is read now really arrived. A commit of an embedded engine blocks everything else. What arrives
 * meanwhile waits for it, and that wait is ours, not the vendor's.
 */
const cameAt = ({ watch: { meters }, store }: AttemptParts, askedMs: number, nowMs: number): number => {
  if (meters === undefined || store.engine !== 'sqlite') return nowMs
  const { fromMs, toMs } = meters.lastCommit()
  return fromMs >= askedMs && nowMs - toMs < SOON_MS ? fromMs : nowMs
}

/**
 * An attempt was answered, at `nowMs` if it is known; `askedMs` was set when it was sent. A stream goes on afterwards, so
 * its reader sets its end.
 */
export const noteAnswered = (parts: AttemptParts, trace: Trace, nowMs = parts.clock.monotonicMs()): void => {
  const { watch } = parts
  const askedMs = trace.times.askedMs ?? nowMs
  const cameMs = cameAt(parts, askedMs, nowMs)
  trace.times.begunMs = cameMs
  trace.times.answeredMs = cameMs
  watch.meters?.attempted(trace.vendor ?? '', 'ok', nowMs - askedMs)
  noteStep(trace, 'ok', askedMs, nowMs)
}

/** An attempt failed; `status` is what the vendor answered with. */
export const noteLost = (
  { clock, watch }: AttemptParts,
  trace: Trace,
  outcome: FailedAttempt['outcome'] | 'gone',
  status?: number,
): void => {
  const { times, vendor = '' } = trace
  const { askedMs } = times
  times.askedMs = undefined
  // It was not sent.
  if (askedMs === undefined) return
  const tookMs = clock.monotonicMs() - askedMs
  trace.times.lostMs += tookMs
  watch.meters?.attempted(vendor, outcome, tookMs)
  const tried = { vendor, outcome, tookMs: Math.round(tookMs) }
  trace.tries ??= []
  trace.tries.push(status === undefined ? tried : { ...tried, status })
  noteStep(trace, outcome, askedMs, askedMs + tookMs)
}

const noteStep = ({ span, vendor = '' }: Trace, outcome: string, fromMs: number, toMs: number): void => {
  if (span === undefined) return
  const attributes = { 'gen_ai.provider.name': providerName(vendor), 'turnpike.outcome': outcome }
  span.steps.push({
    name: `attempt ${vendor}`,
    outward: true,
    fromMs,
    toMs,
    failed: outcome !== 'ok',
    attributes,
  })
}

/** The call has waited at a gate; times are monotonic. */
export const noteGate = (
  { watch }: Pick<Gateway, 'watch'>,
  { span }: Trace,
  gate: 'intent' | 'settle',
  { fromMs, toMs }: { readonly fromMs: number; readonly toMs: number },
): void => {
  watch.meters?.gateWaited(gate, toMs - fromMs)
  span?.steps.push({ name: `gate ${gate}`, fromMs, toMs })
}
