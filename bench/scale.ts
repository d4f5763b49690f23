/**
 * `npm run bench -- --scale [--engine postgres] [--minutes N] [--keys N] [--gateways 1,2,4]`: the cost of a call while
 * a ledger grows, first to a million keys, then by calls for this many minutes. A server on a small ledger runs beside
 * it, and the two are measured in turns: the result is the cost on the large one relative to the small one. On
 * PostgreSQL it also measures the database's work for a call, and how many calls several gateways make of one. Prints
 * rows for docs/scaling.md.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startEmbedded } from '../test/embedded-postgres.ts'
import { bodyOf, cpuSeconds, load, median, type Sample } from './measure.ts'
import { type DatabaseCpu, postgresCpu } from './postgres-cpu.ts'
import { calledBy, inTurnsOf, type Ledger, openLedger, SECRET } from './scale-ledger.ts'
import { type Server, startTurnpike, startUpstream } from './servers.ts'

const { values } = parseArgs({
  options: {
    engine: { type: 'string', default: 'sqlite' },
    minutes: { type: 'string', default: '7' },
    keys: { type: 'string', default: '1000000' },
    gateways: { type: 'string', default: '1,2,4' },
  },
})
const engine = values.engine === 'postgres' ? 'postgres' : 'sqlite'
const KEYS = Number(values.keys)
const FEW = 10
/** What SQLite and PostgreSQL should carry. */
const CALLS_MOST = engine === 'postgres' ? 100_000_000 : 20_000_000
const MARKS = [1_000_000, 5_000_000, 20_000_000, CALLS_MOST]
const BATCH = 500_000
const TURNS = 5
const SECONDS = 2
const CONNECTIONS = 32
const body = bodyOf(1_000)
const started = performance.now()
const isOver = (): boolean => performance.now() - started > Number(values.minutes) * 60_000
const note = (text: string): void =>
  void process.stderr.write(`${((performance.now() - started) / 1_000).toFixed(0)} s: ${text}\n`)

const folder = mkdtempSync(join(tmpdir(), 'turnpike-scale-'))
const postgres = engine === 'postgres' ? await startEmbedded(tmpdir()) : undefined
const databaseCpu: DatabaseCpu = postgres === undefined ? () => 0 : await postgresCpu(postgres.url)
const place = async (name: string): Promise<string> => {
  if (postgres === undefined) return `sqlite:${join(folder, `${name}.db`)}`
  const url = new URL(postgres.url)
  const sql = new Bun.SQL(postgres.url, { max: 1 })
  await sql.unsafe(`create database ${name}`)
  await sql.close()
  url.pathname = `/${name}`
  return url.href
}

let port = 20_000 + Math.floor(Math.random() * 10_000)
const start = (upstream: Server, ledger: string): Promise<Server> =>
  startTurnpike(upstream, {
    engine,
    port: port++,
    ledger,
    settings: { TURNPIKE_SECRET: SECRET, CONSOLE: 'off', OVERLOAD_MS: '0' },
  })

/** Waits until a server has finished the reads of its start. */
const untilQuiet = async (server: Server): Promise<void> => {
  for (let seconds = 0; seconds < 120; seconds++) {
    const before = cpuSeconds(server) + databaseCpu()
    await Bun.sleep(1_000)
    if (cpuSeconds(server) + databaseCpu() - before < 0.15) return
  }
  note('the server is not quiet')
}

type Measured = Sample & { readonly databaseMicros: number }

const measured = async (server: Server): Promise<Measured> => {
  const before = databaseCpu()
  const sample = await load(server, body, { connections: CONNECTIONS, seconds: SECONDS })
  if (sample.failed > 0) note(`${sample.failed} of ${sample.calls} calls failed`)
  return { ...sample, databaseMicros: ((databaseCpu() - before) / sample.calls) * 1e6 }
}

const middle = (samples: readonly Measured[], what: (one: Measured) => number): number =>
  median(samples.map(what))
const whole = (value: number): string => value.toFixed(0)

/**
 * The cost of the large ledger for keys that call again and again, against the small one in turns; then for others,
 * each for its first time.
 */
const against = async (large: Server, small: Server, ledger: Ledger): Promise<string[]> => {
  const again = calledBy(large, inTurnsOf(FEW))
  const control: Measured[] = []
  const own: Measured[] = []
  for (let turn = 0; turn <= TURNS; turn++)
    for (const [server, samples] of [
      [small, control],
      [again, own],
    ] as const) {
      const sample = await measured(server)
      if (turn > 0) samples.push(sample)
    }
  const others: Measured[] = []
  const first = calledBy(large, inTurnsOf(ledger.keys()))
  if (ledger.keys() > FEW) for (let turn = 0; turn < 2; turn++) others.push(await measured(first))
  const of = (samples: readonly Measured[], what: (one: Measured) => number) =>
    median(samples.map((one, turn) => what(one) / what(control[turn] ?? one))).toFixed(2)
  const row = (who: string, samples: readonly Measured[]): string => {
    const database =
      engine === 'postgres'
        ? ` ${whole(middle(samples, (one) => one.databaseMicros))} | ${of(samples, (one) => one.databaseMicros)} |`
        : ''
    return `| ${ledger.keys()} | ${ledger.calls()} | ${who} | ${whole(middle(samples, (one) => one.cpuMicros))} | ${of(samples, (one) => one.cpuMicros)} |${database} ${middle(samples, (one) => one.p50).toFixed(1)}, ${middle(samples, (one) => one.p99).toFixed(1)} |`
  }
  return [row('ten keys', own), ...(others.length === 0 ? [] : [row('another key each', others)])]
}

/** How many calls several gateways make with one database, and how much of it they need. */
const several = async (upstream: Server, ledger: string, count: number): Promise<string> => {
  const servers = await Promise.all(Array.from({ length: count }, () => start(upstream, ledger)))
  try {
    for (const server of servers) await untilQuiet(server)
    const callers = servers.map((server) => calledBy(server, inTurnsOf(FEW)))
    const turns: { rate: number; cpu: number; micros: number; gateway: number }[] = []
    for (let turn = 0; turn <= TURNS; turn++) {
      const before = databaseCpu()
      const from = performance.now()
      const samples = await Promise.all(
        callers.map((server) => load(server, body, { connections: CONNECTIONS, seconds: 3 })),
      )
      const seconds = (performance.now() - from) / 1_000
      const calls = samples.reduce((sum, one) => sum + one.calls, 0)
      const cpu = databaseCpu() - before
      const gateway = samples.reduce((sum, one) => sum + one.cpuMicros * one.calls, 0) / calls
      if (turn > 0)
        turns.push({ rate: calls / seconds, cpu: cpu / seconds, micros: (cpu / calls) * 1e6, gateway })
    }
    const of = (what: (turn: (typeof turns)[number]) => number) => median(turns.map(what))
    const micros = of((one) => one.micros)
    return `| ${count} | ${whole(of((one) => one.rate))}/s | ${whole(of((one) => one.gateway))} | ${whole(micros)} | ${whole(of((one) => one.cpu) * 100)} % | ${whole(1e6 / micros)}/s |`
  } finally {
    for (const server of servers) await server.stop()
  }
}

const upstream = await startUpstream()
const running: Server[] = [upstream]
const cleanUp = async (): Promise<void> => {
  for (const server of running.splice(0)) await server.stop()
  await postgres?.stop()
  rmSync(folder, { recursive: true, force: true })
}
process.on('SIGINT', () => void cleanUp().then(() => process.exit(1)))
const rows: string[] = []
const gatewayRows: string[] = []
try {
  const smallUrl = await place('small')
  const few = await openLedger(smallUrl, CALLS_MOST)
  await few.growKeys(FEW)
  await few.close()
  const url = await place('large')
  const ledger = await openLedger(url, CALLS_MOST)
  await ledger.growKeys(FEW)
  const look = async (): Promise<void> => {
    await ledger.settle()
    // Both are equally old: code that has run for longer is faster.
    const pair = [await start(upstream, url), await start(upstream, smallUrl)] as const
    running.push(...pair)
    for (const server of pair) await untilQuiet(server)
    const [large, small] = pair
    for (const row of await against(large, calledBy(small, inTurnsOf(FEW)), ledger)) {
      rows.push(row)
      note(row)
    }
    for (const server of running.splice(1)) await server.stop()
  }
  await look()
  if (KEYS > 10_000) {
    await ledger.growKeys(10_000)
    await look()
  }
  await ledger.growKeys(KEYS)
  note(`${KEYS} keys take ${((await ledger.bytes()) / KEYS).toFixed(0)} bytes each`)
  await look()
  const before = await ledger.bytes()
  for (const mark of MARKS) {
    if (isOver() || ledger.calls() >= mark) break
    while (!isOver() && ledger.calls() < mark) await ledger.addCalls(BATCH)
    note(`${ledger.calls()} calls`)
    await look()
    note(`a call takes ${(((await ledger.bytes()) - before) / ledger.calls()).toFixed(0)} bytes`)
  }
  await ledger.close()
  if (engine === 'postgres')
    for (const count of values.gateways.split(',').map(Number)) {
      const row = await several(upstream, url, count)
      gatewayRows.push(row)
      note(row)
    }
} finally {
  await cleanUp()
}
const more = engine === 'postgres' ? ' database, µs | of the small ledger |' : ''
process.stdout.write(
  `| keys | calls before | callers | CPU a call, µs | of the small ledger |${more} p50, p99 ms |\n${rows.join('\n')}\n`,
)
if (gatewayRows.length > 0)
  process.stdout.write(
    `\n| gateways | calls | CPU a call, µs | database, µs | database's cores | a core of it |\n${gatewayRows.join('\n')}\n`,
  )
process.exit(0)
