/**
 * What is shown only once, the first key and the link to the console: on a terminal it is printed. Where standard output is
 * no terminal it often goes into a store of logs, which is no place for secrets, so it goes into a file of its own.
 */
import { constants, existsSync } from 'node:fs'
import { access, open } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { fileOf } from '../../store/ledger-file.ts'
import type { Config } from '../config/config.ts'

const FILE = 'first-start.txt'
const OWNER_ONLY = 0o600

/** The file, beside the ledger; on PostgreSQL beside the journal, or in the working folder. */
export const onceFile = ({ databaseUrl, journal }: Pick<Config, 'databaseUrl' | 'journal'>): string => {
  const ledger = fileOf(databaseUrl)
  return resolve(ledger === undefined ? (journal ?? '.') : dirname(ledger), FILE)
}

/** Why the file cannot be written, or undefined: asked before there is something that would be lost. */
export const whyNotKept = async (file: string): Promise<unknown> => {
  try {
    if (existsSync(file)) await (await open(file, 'r+')).close()
    else await access(dirname(file), constants.W_OK)
    return undefined
  } catch (error) {
    return error
  }
}

/** Adds lines to the file, which only its owner reads. What it holds already may be of another ledger in the folder. */
export const keepOnce = async (file: string, lines: readonly string[]): Promise<void> => {
  const handle = await open(file, 'a', OWNER_ONLY)
  try {
    await handle.chmod(OWNER_ONLY)
    await handle.writeFile(`${lines.join('\n')}\n`)
    await handle.sync()
  } finally {
    await handle.close()
  }
}
