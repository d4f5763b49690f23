/**
 * The outbox's folder on a real disk. Its files contain what the database contains, so only the owner may read them.
 */
import { appendFile, close, fdatasync, fstat, fsync, open } from 'node:fs'
import { mkdir, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { OutboxFile, OutboxFolder } from './outbox.ts'

const opened = promisify(open)
const append = promisify(appendFile)
const closed = promisify(close)
const synced = promisify(fsync)
const dataSynced = promisify(fdatasync)
const statOf = promisify(fstat)

const isGone = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ENOENT'

/** Opens the folder, and creates it if it does not exist. Rejects when it cannot be written. */
export const openOutboxFolder = async (path: string): Promise<OutboxFolder> => {
  await mkdir(path, { recursive: true, mode: 0o700 })
  const at = (name: string): string => join(path, name)

  const syncNames = async (): Promise<void> => {
    const folder = await opened(path, 'r')
    try {
      await synced(folder)
    } finally {
      await closed(folder)
    }
  }

  const create = async (name: string): Promise<OutboxFile> => {
    const file = await opened(at(name), 'ax', 0o600)
    try {
      await syncNames()
    } catch (error) {
      await closed(file)
      throw error
    }
    return {
      append: (text) => append(file, text),
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
    remove: (name) => rm(at(name), { force: true }),
  }
}
