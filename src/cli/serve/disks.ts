/** How full the disks are that a server writes to: looked at now and then, because a disk may be slow to answer. */
import { statfs } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import type { Reading } from '../../metrics/snapshot.ts'
import { fileOf } from '../../store/ledger-file.ts'
import type { Config } from '../config/config.ts'

const EVERY_MS = 15_000

/** The folders that the settings name, by what is in them. */
const placesOf = ({ databaseUrl, journal, assets: { place } }: Config): ReadonlyMap<string, string> => {
  const ledger = fileOf(databaseUrl)
  return new Map([
    ...(ledger === undefined ? [] : ([['ledger', dirname(ledger)]] as const)),
    ...(journal === undefined ? [] : ([['journal', journal]] as const)),
    ...('folder' in place ? ([['assets', place.folder]] as const) : []),
  ])
}

/** The disk of a folder, or of the nearest one above it that exists. */
const diskOf = async (folder: string): Promise<{ readonly free: number; readonly size: number }> => {
  for (let at = resolve(folder); ; at = dirname(at))
    try {
      const { bavail, blocks, bsize } = await statfs(at)
      return { free: bavail * bsize, size: blocks * bsize }
    } catch (error) {
      if (at === dirname(at)) throw error
    }
}

/** Looks until the process ends. Returns how to read what was found last; a disk that cannot be read is left out. */
export const watchDisks = (config: Config): (() => readonly Reading[]) => {
  const places = placesOf(config)
  let found: readonly Reading[] = []
  let looking = false
  const look = async (): Promise<void> => {
    if (looking) return
    looking = true
    const disks = await Promise.all(
      [...places].map(async ([of, folder]): Promise<readonly Reading[]> => {
        const disk = await diskOf(folder).catch(() => undefined)
        if (disk === undefined) return []
        return [
          ['diskFree', disk.free, [of]],
          ['diskSize', disk.size, [of]],
        ]
      }),
    )
    found = disks.flat()
    looking = false
  }
  void look()
  setInterval(look, EVERY_MS).unref()
  return () => found
}
