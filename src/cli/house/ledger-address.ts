/** The ledgers that a command about several cells works on. */
import { readFile } from 'node:fs/promises'
import { ledgerExists } from '../../store/open-store.ts'
import { readConfig } from '../config/config.ts'
import { whyNotOpen } from '../config/database-place.ts'
import { Failed, noLedger } from '../run/run-command.ts'

/** The address of a ledger that there is; one in a file shows its password to nobody who lists processes. */
export const ledgerAt = async (given: string): Promise<string> => {
  const url = /^(sqlite:|postgres(ql)?:\/\/)/.test(given)
    ? given
    : await readFile(given, 'utf8').catch(() => undefined)
  if (url === undefined)
    throw new Failed(
      `--database must be postgres://…, sqlite:<path>, or a file with that: ${given} cannot be read`,
    )
  const exists = await ledgerExists({ url: url.trim() }).catch((cause: unknown) => {
    throw new Failed(`the other ledger cannot be opened: ${whyNotOpen(url.trim(), cause)}`)
  })
  if (!exists) throw noLedger(url.trim())
  return url.trim()
}

/** The ledger of the settings. */
export const ledgerHere = async (): Promise<string> => {
  const { databaseUrl } = readConfig(process.env, {})
  if (!(await ledgerExists({ url: databaseUrl }))) throw noLedger(databaseUrl)
  return databaseUrl
}
