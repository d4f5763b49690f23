/** `turnpike doctor`: names each weak setting, with the fix. It changes nothing and needs no running server. */
import type { Command } from 'commander'
import { lastBackup } from '../../backup/last-backup.ts'
import { ledgerExists } from '../../store/open-store.ts'
import { readConfig } from '../config/config.ts'
import { readTls } from '../config/tls-files.ts'
import { Failed, print, under, withDatabase } from '../run/run-command.ts'
import { weaknessesOf } from './weaknesses.ts'

export const doctorCommand = (program: Command): void => {
  under(program, 'doctor', 'name each weak setting, with what to set; fails if there is one')
    .option('--json', 'for programs')
    .action(async ({ json }: { json?: boolean }) => {
      const config = readConfig(process.env)
      const begun = await ledgerExists({ url: config.databaseUrl }).catch(() => false)
      // A ledger that cannot be asked has no backup that anybody knows of.
      const backedUp = begun ? await withDatabase(({ store }) => lastBackup(store), config) : undefined
      const certificate = readTls(config.tls)?.cert
      const found = weaknessesOf(config, { now: Date.now(), backedUp, certificate })
      const lines = found.map(({ setting, weak, fix }) => `${setting}: ${weak}\n    ${fix}\n`)
      print(
        json,
        { data: found },
        found.length === 0 ? 'nothing is weak that settings say\n' : lines.join(''),
      )
      if (found.length > 0)
        throw new Failed(found.length === 1 ? '1 weak setting' : `${found.length} weak settings`)
    })
}
