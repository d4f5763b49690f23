/**
 * The outbox: settlements on the local disk while the ledger cannot be reached, so that an answer may end without it.
 * The writer keeps sending them; an outbox is read only at a start, if a killed process left it. Bringing a settlement
 * into the ledger twice changes nothing, so no step here needs to know whether one was in vain. Operators know it as
 * the journal: the setting JOURNAL names its folder.
 *
 * Processes may share the folder. A process that starts takes over a file by renaming it before reading it. A process
 * that writes checks after each sync whether its file still has its name. If not, the other process may have read the
 * file too early, so the settlement is written again, to a new file. That way nobody needs to know which other
 * processes are alive.
 */
import type { Log } from '../core/log.ts'
import type { CallId, InstanceId, Settle } from '../ledger/types.ts'
import { lineOf, settlesIn } from './outbox-record.ts'

/** A file that only grows. */
export type OutboxFile = {
  append(text: string): Promise<void>
  /** Resolves when what was appended would survive a crash of the machine. */
  sync(): Promise<void>
  /** Whether it still has its original name. */
  isNamed(): Promise<boolean>
  close(): Promise<void>
}

export type OutboxFolder = {
  names(): Promise<readonly string[]>
  /** Makes a new file; when this resolves, its name survives a crash. */
  create(name: string): Promise<OutboxFile>
  read(name: string): Promise<string>
  /** False when the file no longer exists. */
  rename(from: string, to: string): Promise<boolean>
  /** It is no error if the file is already gone. */
  remove(name: string): Promise<void>
}

type LeftBehind = {
  readonly settles: readonly Settle[]
  /** Called when all of them are in the ledger. */
  remove(): Promise<void>
}

export type Outbox = {
  /** Resolves when the settlements would survive a crash here. One call at a time. */
  keep(settles: readonly Settle[]): Promise<void>
  /** A settlement, in a file or not, is in the ledger; the files are removed once all are. */
  inLedger(callId: CallId): void
  /** How many are in files and not in the ledger. */
  waiting(): number
  /** Takes over what processes that ended left behind. */
  left(): Promise<readonly LeftBehind[]>
}

type OutboxParts = {
  readonly folder: OutboxFolder
  /** Names the database, so that no settlement can get into another database's ledger. */
  readonly ledger: string
  readonly instance: InstanceId
  readonly log: Log
}

export const createOutbox = ({ folder, ledger, instance, log }: OutboxParts): Outbox => {
  /** In files and not yet in the ledger. */
  const waiting = new Set<CallId>()
  let mine: string[] = []
  let current: { readonly file: OutboxFile; readonly name: string; holds: boolean } | undefined
  let keeping = false
  let serial = 0

  const newName = (): string => `${ledger}.${instance}.${++serial}`

  const begin = async () => {
    const name = newName()
    mine.push(name)
    return { file: await folder.create(name), name, holds: false }
  }

  const append = async (text: string): Promise<void> => {
    for (;;) {
      current ??= await begin()
      await current.file.append(text)
      await current.file.sync()
      if (await current.file.isNamed()) break
      // A starting process took over the file and may have read it before this was written.
      await letGo()
    }
    current.holds = true
  }

  const letGo = async (): Promise<void> => {
    const file = current?.file
    current = undefined
    await file?.close().catch(() => undefined)
  }

  /** After a failed write or sync nobody knows how the file ends, so nothing more is written to it. */
  const abandon = async (): Promise<void> => {
    const [name, holds] = [current?.name, current?.holds]
    await letGo()
    if (name !== undefined && holds === false) await folder.remove(name).catch(() => undefined)
  }

  const removeMine = async (): Promise<void> => {
    const names = mine
    mine = []
    await letGo()
    for (const name of names) await folder.remove(name).catch(() => undefined)
  }

  const removeWhenDone = (): void => {
    if (waiting.size === 0 && mine.length > 0 && !keeping) void removeMine()
  }

  return {
    keep: async (settles) => {
      keeping = true
      for (const { callId } of settles) waiting.add(callId)
      try {
        await append(settles.map(lineOf).join(''))
      } catch (error) {
        for (const { callId } of settles) waiting.delete(callId)
        await abandon()
        throw error
      } finally {
        keeping = false
        removeWhenDone()
      }
    },
    inLedger: (callId) => {
      waiting.delete(callId)
      removeWhenDone()
    },
    waiting: () => waiting.size,
    left: async () => {
      const found: LeftBehind[] = []
      for (const name of await folder.names()) {
        if (!name.startsWith(`${ledger}.`) || mine.includes(name)) continue
        const taken = newName()
        if (!(await folder.rename(name, taken))) continue
        const { settles, torn } = settlesIn(await folder.read(taken))
        log.warn('a journal was left behind', { ops: settles.length, torn })
        found.push({ settles, remove: () => folder.remove(taken) })
      }
      return found
    },
  }
}
