/**
 * Ensures that what was committed to SQLite's write-ahead log is on the disk. SQLite can wait for that itself, but then
 * the thread that serves calls waits too: for milliseconds, at each commit, on many disks. So SQLite only writes, and
 * the log is synced here: at once if the disk is fast, else beside the loop. One sync serves everything that was
 * committed before it began. Source: sqlite.org/wal.html and pragma `synchronous`: with NORMAL, after a crash a commit
 * is complete or absent, and what a later sync has put on the disk stays.
 */
import { closeSync, existsSync, fdatasync, fdatasyncSync, openSync } from 'node:fs'

/** Puts on the disk what the system holds of a file; undefined if it is there already. */
type SyncFile = () => Promise<void> | undefined

export class LogSync {
  readonly #sync: SyncFile
  #committed = 0
  /** How many commits are on the disk, and how many will be when the present sync ends. */
  #durable = 0
  #covered = 0
  #running: Promise<void> | undefined
  #next: Promise<void> | undefined
  #failed: unknown

  constructor(sync: SyncFile) {
    this.#sync = sync
  }

  /** Something was committed that somebody will rely on. */
  noteCommit(): void {
    this.#committed++
  }

  /**
   * Resolves when everything committed so far is on the disk; undefined if it already is. After a failure it rejects
   * for good.
   */
  onDisk(): Promise<void> | undefined {
    if (this.#failed !== undefined) return Promise.reject(this.#failed)
    if (this.#durable === this.#committed) return undefined
    if (this.#running === undefined) return this.#begin()
    if (this.#covered === this.#committed) return this.#running
    this.#next ??= this.#running.then(() => {
      this.#next = undefined
      return this.onDisk()
    })
    return this.#next
  }

  /** The same for everything committed in this turn of the loop: one sync for requests that come one by one. */
  onDiskTogether(): Promise<void> | undefined {
    if (this.#failed === undefined && this.#durable === this.#committed) return undefined
    return new Promise<void>((next) => setImmediate(next)).then(() => this.onDisk())
  }

  #begin(): Promise<void> | undefined {
    const covered = this.#committed
    try {
      const running = this.#sync()
      if (running === undefined) this.#durable = covered
      else {
        this.#covered = covered
        this.#running = running.then(() => {
          this.#durable = covered
          this.#running = undefined
        }, this.#fail)
      }
      return this.#running
    } catch (error) {
      return Promise.reject(error).catch(this.#fail)
    }
  }

  /** After a failed sync the system may forget what it could not write, so a later success proves nothing about it. */
  readonly #fail = (error: unknown): never => {
    this.#failed = error
    throw error
  }
}

/** Syncs an open file: at once, or beside the loop. */
type Disk = {
  readonly now: (file: number) => void
  readonly beside: (file: number) => Promise<void>
}

const theDisk: Disk = {
  now: fdatasyncSync,
  beside: (file) =>
    new Promise((resolve, reject) => fdatasync(file, (error) => (error ? reject(error) : resolve()))),
}

/**
 * A sync of this length is slow. Syncs beside the loop cost calls somewhat more processor time, because fewer calls
 * share a commit.
 */
const SLOW_MS = 4
/** After a slow sync this many are made beside the loop. Only a sync made at once shows again how fast the disk is. */
const BESIDE = 32

export type LogFile = ReturnType<typeof logFile>

/** The write-ahead log of a database file. It is opened once it exists; before that nothing has been written. */
export const logFile = (path: string, disk = theDisk, nowMs = () => performance.now()) => {
  const log = `${path}-wal`
  let file: number | undefined
  let beside = 0
  const sync: SyncFile = () => {
    if (file === undefined && existsSync(log)) file = openSync(log, 'r+')
    if (file === undefined) return undefined
    if (beside > 0) {
      beside--
      return disk.beside(file)
    }
    const fromMs = nowMs()
    disk.now(file)
    if (nowMs() - fromMs >= SLOW_MS) beside = BESIDE
    return undefined
  }
  return {
    sync,
    close: (): void => {
      if (file !== undefined) closeSync(file)
      file = undefined
    },
  }
}
