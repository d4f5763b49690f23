/**
 * `npm run agents`: every client before every vendor. Options: --only <text in its name>, --write (keep
 * what was found for docs/compatibility.md; `npm run compatibility` does both).
 * The last line is `N passed, N failed`.
 */
import { install, NotInstalled } from './install.ts'
import { runPayment } from './payment.ts'
import { programs } from './programs/index.ts'
import { cells, titleOf } from './programs/program.ts'
import { keepResults, rowOf } from './results.ts'
import { runSession } from './session.ts'

const option = (name: string): string | undefined =>
  process.argv.includes(name) ? process.argv[process.argv.indexOf(name) + 1] : undefined

const only = option('--only') ?? ''
const chosen = programs.filter((one) => titleOf(one).includes(only))
let passed = 0
let failed = 0

for (const program of chosen) {
  const rows: ReturnType<typeof rowOf>[] = []
  for (const set of program.sets) {
    const installed = await install(set).catch((error: unknown) => {
      if (!(error instanceof NotInstalled)) throw error
      failed += cells.length
      console.log(`FAILED ${titleOf(program)}: ${error.message}`)
    })
    if (installed === undefined) continue
    for (const vendor of program.vendors) {
      const started = performance.now()
      const session = program.pays === true ? runPayment : runSession
      const found = await session(program, vendor, installed)
      const seconds = ((performance.now() - started) / 1000).toFixed(0)
      passed += cells.length - Object.keys(program.cannot ?? {}).length - found.size
      failed += found.size
      const version = installed.versionOf(program.package)
      rows.push(rowOf(program, version, vendor, [...found.keys()]))
      console.log(
        `${found.size === 0 ? 'ok    ' : 'FAILED'} ${titleOf(program)} ${version} → ${vendor}  ${seconds} s`,
      )
      for (const [cell, why] of found) console.log(`       ${cell}: ${why.replaceAll('\n', '\n         ')}`)
    }
  }
  // Written after each program, because a run of all takes long.
  if (process.argv.includes('--write')) keepResults(rows)
}
console.log(`${passed} passed, ${failed} failed`)
process.exit(failed === 0 ? 0 : 1)
