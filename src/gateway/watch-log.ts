/**
 * Remembers outside the database which end of the log of receipts was shown last. If the database went back to before it, after
 * a failover or from a backup, no end is signed until the log has grown to that one again; and if it became another log, none
 * at all: nobody gets two signed ends of one size that differ.
 */
import { type Log, warning } from '../core/log.ts'
import { rootsOf, tilesOf } from '../receipts/merkle.ts'
import type { LogEnd, LogStore } from '../store/log/log-port.ts'

/** An end as it is kept. */
type Seen = { readonly size: number; readonly root: string; readonly began: number }

/** Where it outlives this process and the database. */
export type KeptEnd = {
  read(): Promise<Seen | undefined>
  write(end: Seen): Promise<void>
}

type State = 'as shown' | 'behind' | 'another'

export type LogWatch = {
  /** Compares the log with what was shown, and remembers its end. */
  look(log: LogStore): Promise<void>
  /** Whether an end may be signed that goes on from a log of that size. */
  maySign(from: number): boolean
  /** Whether it became another log: then it is left as it is. */
  isAnother(): boolean
  trouble(): string | undefined
}

const seenOf = ({ size, root, began }: LogEnd): Seen => ({
  size,
  root: Buffer.from(root).toString('hex'),
  began,
})

const stateOf = async (log: LogStore, end: LogEnd | undefined, shown: Seen): Promise<State> => {
  if (end === undefined || end.began !== shown.began) return 'another'
  if (end.size < shown.size) return 'behind'
  if (shown.size === 0) return 'as shown'
  const first = [{ from: 0, to: shown.size }]
  const [root] = end.size === shown.size ? [end.root] : rootsOf(first, await log.tiles(tilesOf(first)))
  return Buffer.from(root ?? '').toString('hex') === shown.root ? 'as shown' : 'another'
}

const troubles: Readonly<Record<State, string | undefined>> = {
  'as shown': undefined,
  behind:
    'the ledger went back: the log of receipts had grown further; its ends are signed when it has again',
  another:
    'the ledger went back: the log of receipts is another one than was shown, and stands still; docs/receipt-log.md',
}

export const newLogWatch = (kept: KeptEnd | undefined, log: Log): LogWatch => {
  let [shown, state, wasRead]: [Seen | undefined, State, boolean] = [undefined, 'as shown', false]
  const remember = async (end: LogEnd): Promise<void> => {
    const changed = shown === undefined || end.size > shown.size
    if (!changed || end.token === '') return
    shown = seenOf(end)
    // A disk that takes nothing stops no log: this process remembers all the same.
    await kept?.write(shown).catch(warning(log, 'the end of the log of receipts could not be kept'))
  }
  return {
    look: async (receipts) => {
      if (!wasRead) shown = await kept?.read()
      wasRead = true
      const end = await receipts.end()
      const found = shown === undefined ? 'as shown' : await stateOf(receipts, end, shown)
      if (found !== state && found === 'as shown') log.warn('the log of receipts is again what was shown')
      else if (found !== state) log.error(troubles[found] ?? '')
      state = found
      if (found === 'as shown' && end !== undefined) await remember(end)
    },
    maySign: (from) => state === 'as shown' && from >= (shown?.size ?? 0),
    isAnother: () => state === 'another',
    trouble: () => troubles[state],
  }
}
