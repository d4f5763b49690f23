/**
 * The folder of the outboxes, shared by all processes of the simulated machine. Reading sees what was written; a killed
 * process loses what it had not synced, except a part that may reach the disk torn.
 */
import type { OutboxFile, OutboxFolder } from '../../src/book/outbox.ts'
import type { World } from './world.ts'

type Stored = { text: string; synced: number; readonly owner: () => boolean }

/** Writes that find the disk full, and syncs that take long. */
const FULL = 0.15
const SLOW = 0.15
const SLOW_MS = 600

export type Disk = {
  /** The folder as one process sees it; `wrote` is told of each write whether it went well. */
  readonly folder: (alive: () => boolean, wrote: (well: boolean) => void) => OutboxFolder
  /** To be called when processes have been killed. */
  readonly loseUnsynced: () => void
  readonly names: () => readonly string[]
}

export const createDisk = (world: World, hit: (what: string) => void): Disk => {
  const { random, pick } = world.draws('disk')
  const files = new Map<string, Stored>()

  const folderOf = (alive: () => boolean, wrote: (well: boolean) => void): OutboxFolder => {
    /** One operation: it takes its time, and neither has an effect nor ends if the process was killed before. */
    const take = <T>(longestMs: number, work: () => T): Promise<T> =>
      new Promise((resolve, reject) =>
        world.after(pick(0, longestMs), () => {
          if (!alive()) return
          try {
            resolve(work())
          } catch (error) {
            reject(error)
          }
        }),
      )
    const fileOf = (name: string): OutboxFile => {
      const stored: Stored = { text: '', synced: 0, owner: alive }
      files.set(name, stored)
      return {
        append: (text) =>
          take(1, () => {
            if (random() < FULL) {
              stored.text += text.slice(0, pick(0, text.length - 1))
              hit('outbox not writable')
              wrote(false)
              throw new Error('the disk is full')
            }
            stored.text += text
          }),
        sync: () =>
          take(random() < SLOW ? SLOW_MS : 30, () => {
            stored.synced = stored.text.length
            wrote(true)
          }),
        isNamed: () =>
          take(0, () => {
            const named = files.get(name) === stored
            if (!named) hit('outbox taken from the living')
            return named
          }),
        close: () => take(0, () => undefined),
      }
    }
    return {
      names: () => take(1, () => [...files.keys()]),
      create: (name) => take(5, () => fileOf(name)),
      read: (name) => take(5, () => files.get(name)?.text ?? ''),
      rename: (from, to) =>
        take(2, () => {
          const stored = files.get(from)
          if (stored === undefined) return false
          files.delete(from)
          files.set(to, stored)
          if (stored.text !== '') hit('outbox left behind')
          return true
        }),
      remove: (name) => take(1, () => void files.delete(name)),
    }
  }

  return {
    folder: folderOf,
    loseUnsynced: () => {
      for (const stored of files.values()) {
        if (stored.owner() || stored.synced === stored.text.length) continue
        const reached = pick(stored.synced, stored.text.length)
        if (reached < stored.text.length && reached > stored.synced) hit('outbox torn')
        stored.text = stored.text.slice(0, reached)
        stored.synced = reached
      }
    },
    names: () => [...files.keys()],
  }
}
