/** The callers' books against the ledgers: what was answered is charged once, and nobody who has money is refused. */
import { openView } from '../chaos/view.ts'
import type { Seen } from './callers.ts'

/** What a ledger charged for a call. */
export type Charge = {
  readonly ref: string
  readonly amount: bigint
  readonly note: string | null
  readonly debit: string
}

export type Findings = {
  readonly calls: number
  readonly answered: number
  /** Refused with 503. */
  readonly refused: number
  /** Ended without an answer, or in the middle of one. */
  readonly cut: number
  /** Answered and not charged, or at another amount than was told. */
  readonly lost: readonly string[]
  readonly doubled: readonly string[]
  /** Refused for another reason than the fault. */
  readonly falselyRefused: readonly string[]
}

/** All charges of a ledger. */
export const chargesIn = async (url: string): Promise<readonly Charge[]> => {
  const view = openView(url)
  try {
    const rows = await view.rows(
      `select ref, amount, note, debit from transfer where kind in ('usage', 'writeoff') and ref is not null`,
    )
    return rows.map(({ ref, amount, note, debit }) => ({
      ref: ref ?? '',
      amount: BigInt(amount ?? 0),
      note: note ?? null,
      debit: debit ?? '',
    }))
  } finally {
    await view.close()
  }
}

/** A repeat of a call may be told that the call is still running, or that its outcome is not known yet. */
const isFalse = ({ status, repeated }: Seen): boolean =>
  status >= 400 && status !== 503 && !(status === 409 && repeated !== undefined)

/** `ledgers`: the charges of each cell; one that moved has its own in two. */
export const findings = (seen: readonly Seen[], ledgers: readonly (readonly Charge[])[]): Findings => {
  const byRef = ledgers.map((charges) => Map.groupBy(charges, ({ ref }) => ref))
  const chargesOf = (callId: string) =>
    byRef
      .map((charges) => charges.get(callId) ?? [])
      .reduce((most, one) => (one.length > most.length ? one : most), [])
  const answered = seen.filter(({ complete }) => complete)
  const lost = answered.filter(({ callId, costNano }) => {
    const [charge] = chargesOf(callId)
    return charge === undefined || (charge.amount !== costNano && charge.note === null)
  })
  const doubled = seen.filter(({ callId }) => callId !== '' && chargesOf(callId).length > 1)
  // Each answer to repeats of one call is the answer of one charge.
  const names = Map.groupBy(
    answered.filter(({ repeated }) => repeated !== undefined),
    ({ repeated }) => repeated,
  )
  const split = [...names.values()].flatMap((list) =>
    new Set(list.map(({ callId }) => callId)).size > 1 ? [list[0]?.callId ?? ''] : [],
  )
  return {
    calls: seen.length,
    answered: answered.length,
    refused: seen.filter(({ status }) => status === 503).length,
    cut: seen.filter(({ complete, status }) => !complete && status < 400).length,
    lost: lost.map(({ callId }) => callId),
    doubled: [...new Set([...doubled.map(({ callId }) => callId), ...split])],
    falselyRefused: seen.filter(isFalse).map(({ status, code }) => `${status} ${code}`),
  }
}
