/**
 * A sample of the sessions for every run of the tests: a program, and the vendors' own libraries in their newest
 * versions. Each meets one vendor here, in turn one of its own dialect and one of another; `npm run agents` runs all.
 */
import { expect, test } from 'bun:test'
import { install, NotInstalled } from './install.ts'
import { programs } from './programs/index.ts'
import { titleOf } from './programs/program.ts'
import { runSession } from './session.ts'

const sample = ['claude-code', 'openai', 'openai, responses', 'anthropic-sdk', 'google-genai', 'codex-socket']
/** For the installation and a session; no machine needs this long. */
const LONG_MS = 30 * 60_000

for (const [at, title] of sample.entries()) {
  const program = programs.find((one) => titleOf(one) === title)
  if (program === undefined) throw new Error(`there is no client '${title}'`)
  const [set = ''] = program.sets
  const vendor = program.vendors[at % 2]
  if (vendor === undefined) throw new Error(`${title} meets one vendor only`)
  test(
    `${title} in a whole session with a vendor that speaks ${vendor}`,
    async () => {
      const installed = await install(set).catch((error: unknown) => {
        if (!(error instanceof NotInstalled)) throw error
        process.stderr.write(`${title} is left out: ${error.message}\n`)
      })
      if (installed !== undefined) expect([...(await runSession(program, vendor, installed))]).toEqual([])
    },
    LONG_MS,
  )
}
