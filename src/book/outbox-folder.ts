/**
 * The outbox's folder on a real disk. Its files contain what the database contains, so only the owner may read them.
 */
import { randomBytes } from 'node:crypto'
import { appendFile, close, fdatasync, fstat, fsync, open } from 'node:fs'
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { OutboxFile, OutboxFolder } from './outbox.ts'

const opened = promisify(open)
const append: (file: number, text: string) => Promise<void> = promisify(appendFile)
const closed = promisify(close)
const synced = promisify(fsync)
const dataSynced = promisify(fdatasync)
const statOf = promisify(fstat)

const hasCode = (error: unknown, code: string): boolean =>
  error instanceof Error && 'code' in error && error.code === code

const isGone = (error: unknown): boolean => hasCode(error, 'ENOENT')

const RESERVE = 'reserve'

/**
 * Opens the folder, and creates it if it does not exist. Rejects when it cannot be written. It keeps a file of
 * `reserveBytes`, whose space is given to the settlements when the disk is full.
 */
export const openOutboxFolder = async (
  path: string,
  reserveBytes = 0,
  write = append,
  make: (path: string, flags: string, mode: number) => Promise<number> = opened,
): Promise<OutboxFolder> => {
  await mkdir(path, { recursive: true, mode: 0o700 })
  const at = (name: string): string => join(path, name)

  /** A disk without the space has none to keep. */
  const keepReserve = async (): Promise<void> => {
    if (reserveBytes === 0) return
    await writeFile(at(RESERVE), randomBytes(reserveBytes), { flag: 'wx', mode: 0o600 }).catch((error) =>
      hasCode(error, 'EEXIST') ? undefined : rm(at(RESERVE), { force: true }),
    )
  }

  /** Whether there was a reserve, whose space is free now. */
  const spendReserve = (): Promise<boolean> =>
    rm(at(RESERVE)).then(
      () => true,
      () => false,
    )

  /** Does it once more in the reserve's space, if the disk has none. */
  const orInReserve = async <T>(work: () => Promise<T>, again = work): Promise<T> => {
    try {
      return await work()
    } catch (error) {
      if (!hasCode(error, 'ENOSPC') || !(await spendReserve())) throw error
      return again()
    }
  }

  const appendTo = (file: number, text: string): Promise<void> =>
    orInReserve(
      () => write(file, text),
      // A part of it may be there already: it ends as a torn line, and all follows once more.
      () => write(file, `\n${text}`),
    )

  const syncNames = async (): Promise<void> => {
    const folder = await opened(path, 'r')
    try {
      await synced(folder)
    } finally {
      await closed(folder)
    }
  }

  const create = async (name: string): Promise<OutboxFile> => {
    // Where names, too, need space, a full disk has none for a new file.
    const file = await orInReserve(() => make(at(name), 'ax', 0o600))
    try {
      await syncNames()
    } catch (error) {
      await closed(file)
      throw error
    }
    return {
      append: (text) => appendTo(file, text),
      sync: () => dataSynced(file),
      isNamed: async () => {
        const [own, named] = await Promise.all([
          statOf(file),
          stat(at(name)).catch((error: unknown) => {
            if (isGone(error)) return undefined
            throw error
          }),
        ])
        return named !== undefined && named.ino === own.ino && named.dev === own.dev
      },
      close: () => closed(file),
    }
  }

  // Reports an unwritable folder at the start, rather than at the first outage.
  const probe = `probe.${process.pid}.${Bun.randomUUIDv7()}`
  await (await create(probe)).close()
  await rm(at(probe), { force: true })
  await keepReserve()

  return {
    names: () => readdir(path),
    create,
    read: (name) => readFile(at(name), 'utf8'),
    rename: async (from, to) => {
      try {
        await rename(at(from), at(to))
        return true
      } catch (error) {
        if (isGone(error)) return false
        throw error
      }
    },
    remove: async (name) => {
      await rm(at(name), { force: true })
      await keepReserve()
    },
  }
}
