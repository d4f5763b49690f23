/** Backups in a folder: made under a hidden name, synced, and renamed when complete. */
import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, rename, rm, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { openFolder } from '../assets/folder.ts'
import { takeMark } from '../store/engine/serving-lock.ts'
import { piecesOfFile, piecesOfText, sync, writeSynced } from './durable.ts'
import { LEDGER, MANIFEST } from './manifest.ts'
import { type BackupPlace, type BackupSource, Busy } from './place.ts'

const OWNER_ONLY = 0o700
/** A lock held while a backup is made; it goes away with its process. */
const MARK = '.turnpike-backup'
const isLeft = (name: string): boolean => name.startsWith('.turnpike-') && name.endsWith('.part')

/** Takes the folder for making a backup, and removes what killed processes left there. */
export const takeFolder = async (folder: string): Promise<() => void> => {
  await mkdir(folder, { recursive: true, mode: OWNER_ONLY })
  const lock = takeMark(join(folder, MARK))
  if (lock === undefined) throw new Busy(`another backup is made in ${folder} now`)
  for (const left of (await readdir(folder)).filter(isLeft))
    await rm(join(folder, left), { recursive: true, force: true })
  return lock.release
}

/** A folder for a backup in progress, inside a folder that was taken. */
export const hiddenIn = (folder: string, name: string): string => join(folder, `.${name}.part`)

export const freeIn = async (folder: string): Promise<number> => {
  const { bavail, bsize } = await statfs(folder)
  return bavail * bsize
}

/** A folder that takes backups; it is created if it does not exist. */
export const folderPlace = (folder: string): BackupPlace => ({
  begin: async (name) => {
    const release = await takeFolder(folder)
    const [part, whole] = [hiddenIn(folder, name), join(folder, name)]
    const ledger = join(part, LEDGER)
    if (existsSync(whole)) throw new Busy(`${whole} is there already`)
    await mkdir(part, { mode: OWNER_ONLY })
    return {
      ledger,
      freeBytes: () => freeIn(part),
      assets: openFolder(join(part, 'assets')),
      keepLedger: () => sync(ledger),
      finish: async (manifest) => {
        await writeSynced(join(part, MANIFEST), piecesOfText(manifest))
        await syncFolders(part)
        await rename(part, whole)
        await sync(folder)
        return whole
      },
      end: async () => {
        await rm(part, { recursive: true, force: true })
        release()
      },
    }
  },
})

/** Syncs the names in the folder and below it to the disk. */
const syncFolders = async (folder: string): Promise<void> => {
  for (const entry of await readdir(folder, { withFileTypes: true, recursive: true }))
    if (entry.isDirectory()) await sync(join(entry.parentPath, entry.name))
  await sync(folder)
}

/** One backup in its own folder. */
export const folderSource = (folder: string): BackupSource => ({
  manifest: async () => {
    const path = join(folder, MANIFEST)
    return existsSync(path) ? readFile(path, 'utf8') : undefined
  },
  ledger: () => piecesOfFile(join(folder, LEDGER)),
  assets: openFolder(join(folder, 'assets')),
})
