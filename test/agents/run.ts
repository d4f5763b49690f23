/**
 * `npm run agents`: every client before every vendor. Options: --only <text in its name>, --update.
 * The last line is `N passed, N failed`.
 */
import { install } from './install.ts'
import { programs } from './programs/index.ts'
import { cells } from './programs/program.ts'
import { runSession } from './session.ts'

const option = (name: string): string | undefined =>
  process.argv.includes(name) ? process.argv[process.argv.indexOf(name) + 1] : undefined

const only = option('--only') ?? ''
const chosen = programs.filter(({ name }) => name.includes(only))
const installed = await install(chosen.flatMap(({ sets }) => sets))
let passed = 0
let failed = 0
for (const program of chosen)
  for (const set of program.sets)
    for (const vendor of program.vendors) {
      const started = performance.now()
      const found = await runSession(program, set, vendor, installed)
      const seconds = ((performance.now() - started) / 1000).toFixed(0)
      passed += cells.length - found.size
      failed += found.size
      console.log(
        `${found.size === 0 ? 'ok    ' : 'FAILED'} ${program.name} ${installed.versionOf(set, program.package)} → ${vendor}  ${seconds} s`,
      )
      for (const [cell, why] of found) console.log(`       ${cell}: ${why.replaceAll('\n', '\n         ')}`)
    }
console.log(`${passed} passed, ${failed} failed`)
process.exit(failed === 0 ? 0 : 1)
