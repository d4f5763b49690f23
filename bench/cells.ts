/**
 * `npm run bench -- --cells [--cells-count 16] [--organisations 1000000] [--calls 750000] [--capacity 64000] [--days 30]
 * [--rows N] [--seed 1]`: a day of organisations in cells, in virtual time. How far the busiest cell is from the mean by how
 * organisations are placed, how much load would have to move, and what moves can carry: first one is moved from PostgreSQL to
 * PostgreSQL, to measure how many rows a second that is, unless `--rows` says it.
 *
 * Sizes are Pareto with four fifths of the calls in one fifth of the organisations, each in one of three parts of the world;
 * each hour some grow twentyfold. `--capacity` is what a cell carries (docs/scaling.md).
 */
import { rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { moveOrganisation } from '../src/store/move/move-organisation.ts'
import { openStore } from '../src/store/open-store.ts'
import { byTest } from '../test/by-test.ts'
import { makeCalledLedger } from '../test/operations/called-ledger.ts'
import { postgresForTests } from '../test/postgres.ts'

const option = (name: string, by: number): number => {
  const at = process.argv.indexOf(`--${name}`)
  return at < 0 ? by : Number(process.argv[at + 1])
}
const CELLS = option('cells-count', 16)
const ORGANISATIONS = option('organisations', 1_000_000)
const CALLS = option('calls', 750_000)
const CAPACITY = option('capacity', 64_000)
const DAYS = option('days', 30)
/** A posting and its detail. */
const ROWS_A_CALL = 2
const DAY_SECONDS = 86_400
/** The longest transaction of a move. */
const LONGEST_SECONDS = 6 * 3_600
/** Beyond this, of the mean, a cell is to give load away. */
const TOO_BUSY = 1.05
const STEP_SECONDS = 300
const GROWN_AN_HOUR = 20
const GROWTH = 20
/** Four fifths in one fifth. */
const PARETO = Math.log(5) / Math.log(4)

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

const MEASURED_CALLS = 20_000
const ROWS_A_SECOND = option('rows', 0) || Math.round(await measureMove(MEASURED_CALLS))

let state = option('seed', 1)
/** A number from 0 to 1 (mulberry32). */
const random = (): number => {
  state = (state + 0x6d2b79f5) | 0
  let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
}

/** Calls a second of each, on the mean of the day, from the largest on; none is larger than what a cell carries. */
const sizes = Float64Array.from({ length: ORGANISATIONS }, () => (1 - random()) ** (-1 / PARETO))
const rate = CALLS / sizes.reduce((all, one) => all + one, 0)
const sized = sizes.map((one) => Math.min(one * rate, CAPACITY)).sort((one, other) => other - one)
const part = Uint8Array.from(sized, () => Math.floor(random() * 3))

const busiest = (loads: Float64Array): number =>
  Math.max(...loads) / (loads.reduce((all, one) => all + one, 0) / CELLS)

/** By the hash of its id, as trials are placed; or each where there is most room, the largest first. */
const placements: Readonly<Record<string, () => Uint8Array>> = {
  'by hash': () => Uint8Array.from(sized, () => Math.floor(random() * CELLS)),
  'where there is room': () => {
    const loads = new Float64Array(CELLS)
    return Uint8Array.from(sized, (size) => {
      const cell = loads.indexOf(Math.min(...loads))
      loads[cell] = (loads[cell] ?? 0) + size
      return cell
    })
  },
}

/** A day: how busy the busiest cell is at most, and how much load a rule would have to move away from such cells. */
const aDay = (cells: Uint8Array) => {
  const now = sized.slice()
  const byPart = Array.from({ length: 3 }, () => new Float64Array(CELLS))
  const add = (organisation: number, calls: number): void => {
    const loads = byPart[part[organisation] ?? 0] as Float64Array
    const cell = cells[organisation] ?? 0
    loads[cell] = (loads[cell] ?? 0) + calls
  }
  for (const [organisation, calls] of sized.entries()) add(organisation, calls)
  let [worst, full, toMove] = [0, 0, 0]
  for (let second = 0; second < DAY_SECONDS; second += STEP_SECONDS) {
    if (second % 3_600 === 0)
      for (let grown = 0; grown < GROWN_AN_HOUR; grown++) {
        const organisation = Math.floor(random() * ORGANISATIONS)
        const more = (now[organisation] ?? 0) * (GROWTH - 1)
        now[organisation] = (now[organisation] ?? 0) + more
        add(organisation, more)
      }
    const loads = new Float64Array(CELLS)
    for (const [zone, ofZone] of byPart.entries()) {
      const waking = 1 + 0.6 * Math.sin(2 * Math.PI * (second / DAY_SECONDS - zone / 3))
      for (const [cell, calls] of ofZone.entries()) loads[cell] = (loads[cell] ?? 0) + calls * waking
    }
    const mean = loads.reduce((all, one) => all + one, 0) / CELLS
    worst = Math.max(worst, busiest(loads))
    full = Math.max(full, Math.max(...loads) / CAPACITY)
    const over = [...loads].reduce((all, one) => all + Math.max(0, one - TOO_BUSY * mean), 0)
    toMove = Math.max(toMove, over)
  }
  return { worst, full, toMove }
}

/** Of a size, how long the move takes: its rows in the days that details are kept, at the measured rate. */
const moveSeconds = (calls: number): number => (calls * DAY_SECONDS * DAYS * ROWS_A_CALL) / ROWS_A_SECOND
const largestMoved = LONGEST_SECONDS / moveSeconds(1)
/** Whatever their size: what one cell can give away in a day of moves, one after another. */
const givenInADay = DAY_SECONDS / moveSeconds(1)
const percent = (of: number): string => `${(of * 100).toFixed(1)} %`
const moved = sized.findIndex((size) => size <= largestMoved)

console.log(`| organisations placed | busiest cell, of the mean | of its capacity | calls a second to move away | moves of the largest that can move |
| --- | ---: | ---: | ---: | ---: |`)
for (const [name, place] of Object.entries(placements)) {
  const { worst, full, toMove } = aDay(place())
  const each = sized[moved] ?? 0
  console.log(
    `| ${name} | ${percent(worst)} | ${percent(full)} | ${Math.round(toMove)} | ${Math.ceil(toMove / each)} |`,
  )
}
console.log(`
A move copies ${ROWS_A_SECOND} rows a second.
The largest organisation: ${Math.round(sized[0] ?? 0)} calls a second, ${percent((sized[0] ?? 0) / CAPACITY)} of a cell.
The largest that moves within ${LONGEST_SECONDS / 3_600} h with ${DAYS} days of details: ${largestMoved.toFixed(1)} calls a second; ${moved} of ${ORGANISATIONS} are larger.
A cell gives away ${Math.round(givenInADay)} calls a second in a day of moves, ${percent(givenInADay / CAPACITY)} of what it carries.`)
process.exit(0)
