/**
 * `npm run bench -- --cells [options of turnpike simulate]`: moves an organisation from PostgreSQL to PostgreSQL, to measure how many
 * rows a second that is, and plays a day of organisations in cells with it (`src/cells/plan-day.ts`).
 */
import { rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Command } from 'commander'
import { simulateCommand } from '../src/cli/house/simulate-command.ts'
import { moveOrganisation } from '../src/store/move/move-organisation.ts'
import { openStore } from '../src/store/open-store.ts'
import { byTest } from '../test/by-test.ts'
import { makeCalledLedger } from '../test/operations/called-ledger.ts'
import { postgresForTests } from '../test/postgres.ts'

/** Moves an organisation with so many calls, and returns the rows of a second. */
const measureMove = async (calls: number): Promise<number> => {
  const file = join(tmpdir(), `turnpike-cells-${process.pid}.db`)
  await makeCalledLedger(file, calls, 1_000n)
  const databases = [await postgresForTests(), await postgresForTests()]
  const ends = [`sqlite:${file}`, ...databases.map(({ url }) => url)].map((url, at) => ({
    url,
    cell: `c${at}`,
  }))
  let rate = 0
  for (const [at, from] of ends.slice(0, -1).entries()) {
    const to = ends[at + 1] ?? from
    await (await openStore(to)).close()
    const beganMs = performance.now()
    const { rows } = await moveOrganisation({
      ...{ orgId: 'o', from, to, by: byTest, waitMs: 60_000, tell: () => undefined },
    })
    rate = Object.values(rows).reduce((all, one) => all + one, 0) / ((performance.now() - beganMs) / 1000)
  }
  for (const { stop } of databases) await stop()
  for (const more of ['', '-wal', '-shm']) rmSync(`${file}${more}`, { force: true })
  return rate
}

const rows = Math.round(await measureMove(20_000))
const program = new Command()
simulateCommand(program)
await program.parseAsync(['simulate', '--rows', String(rows), ...process.argv.slice(2)], { from: 'user' })
process.exit(0)
