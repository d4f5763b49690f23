/** What a commit writes, as its statements take it: in JSON members are single letters, because names would travel with every row. */
import { storable } from '../../core/storable.ts'
import { inputTokens, outputTokens } from '../../core/usage.ts'
import type { CallId, Checkpoint, LeaseId, Settle } from '../../ledger/types.ts'

export const json = (rows: readonly object[]): string => JSON.stringify(rows)
export const ids = (list: Iterable<string>): string => json([...list].map((c) => ({ c })))

/** One row per call: the largest hold and the largest checkpoint of the batch. */
export const latest = (progress: readonly Checkpoint[]): readonly Checkpoint[] => {
  const byCall = new Map<CallId, Checkpoint>()
  for (const next of progress) {
    const seen = byCall.get(next.callId)
    byCall.set(next.callId, {
      callId: next.callId,
      hold: seen !== undefined && seen.hold > next.hold ? seen.hold : next.hold,
      spent: seen !== undefined && seen.spent > next.spent ? seen.spent : next.spent,
      ...leaseOf(next.leaseId ?? seen?.leaseId),
    })
  }
  return [...byCall.values()]
}

const leaseOf = (leaseId: LeaseId | undefined): Pick<Checkpoint, 'leaseId'> =>
  leaseId === undefined ? {} : { leaseId }

/** The note on a charge whose cost was above the hold. */
export const noteOf = ({ excess }: Settle): string | null => (excess > 0n ? `house_excess ${excess}` : null)

export const detailRow = (callId: CallId, detail: NonNullable<Settle['detail']>) => ({
  c: callId,
  m: detail.model,
  i: inputTokens(detail.usage),
  o: outputTokens(detail.usage),
  d: JSON.stringify(
    detail.receipt === undefined
      ? detail
      : { ...detail, receipt: { ...detail.receipt, authorized: detail.receipt.authorized.toString() } },
  ),
})

export const answerRows = (settles: readonly Settle[]) =>
  settles.flatMap(({ callId, leaseId, answer }) =>
    answer === undefined
      ? []
      : [
          {
            k: answer.ref.keyId,
            e: answer.ref.endpoint,
            i: answer.ref.key,
            c: callId,
            s: answer.answer.status,
            h: storable(JSON.stringify(answer.answer.headers)),
            b: storable(answer.answer.body),
            l: leaseId,
          },
        ],
  )
