/**
 * `npm run upgrade`: versions of the history against this one, on one PostgreSQL, under load and with kill -9. Each of
 * versions.json is upgraded to this one; where it may be started again on this one's ledger, this one goes back to it.
 * Ends with 1 if anything is wrong, and with 2 if the history lacks a version, which then was not tested.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { postgresForTests } from '../postgres.ts'
import { endPrograms, runCommand } from '../program.ts'
import { type Package, packageOf, present } from './packages.ts'
import { roll } from './roll.ts'
import versions from './versions.json'

let failed = 0
let skipped = 0

const say = (text: string): void => {
  process.stdout.write(`${text}\n`)
}

/** Rolls from one to the other, on a ledger of the older one; where that may not be started again, it must refuse. */
const play = async (
  older: Package,
  [before, after]: readonly [Package, Package],
  again: boolean,
): Promise<void> => {
  const database = await postgresForTests()
  const home = mkdtempSync(join(tmpdir(), 'turnpike-upgrade-'))
  const broken: string[] = []
  try {
    const rolled = await roll({ url: database.url, home, before, after, again, madeBy: older })
    broken.push(...rolled.broken)
    if (rolled.cutOff === 0) broken.push('no call was cut off by a kill')
    say(
      `  ${rolled.answers} answers, charged ${rolled.charged} nano-USD as the vendor gave; ${rolled.cutOff} cut off by kill -9`,
    )
    if (!again) {
      const { code, errors } = await runCommand(before.program, home, { DATABASE_URL: database.url }, 'audit')
      if (code !== 1 || !errors.includes('newer than this program'))
        broken.push(`the version before on the newer ledger: ${code} ${errors}`)
    }
  } catch (error) {
    broken.push(String(error))
  } finally {
    await endPrograms()
    rmSync(home, { recursive: true })
    await database.stop()
  }
  for (const one of broken.slice(0, 10)) say(`  WRONG: ${one}`)
  say(`${broken.length === 0 ? 'ok    ' : 'FAILED'} ${before.name} → ${after.name}`)
  if (broken.length > 0) failed++
}

for (const { commit, again, why } of versions) {
  const older = packageOf(commit)
  if (older === undefined) {
    skipped++
    say(
      `SKIPPED ${commit} (${why}): NOT TESTED, this history does not have it; git fetch --unshallow brings it`,
    )
    continue
  }
  say(`${commit}: ${why}`)
  try {
    await play(older, [older, present], again)
    if (again) await play(older, [present, older], again)
  } finally {
    rmSync(older.folder, { recursive: true })
  }
}
say(`${failed} failed, ${skipped} not tested`)
process.exit(failed > 0 ? 1 : skipped > 0 ? 2 : 0)
