/**
 * `bun bench/unopened.ts [--idle 60] [--calls 6000] [--rounds 5]`: the cost of a console that nobody opens. Two servers
 * run side by side, one with the console and one with CONSOLE=off: memory and processor while nobody calls, processor
 * for each call under a small load, memory after it. Each round starts both anew; it prints the medians, and the least
 * and most.
 */
import { createServer } from 'node:net'
import { parseArgs } from 'node:util'
import { bodyOf, cpuSeconds, load, quantile, residentMb } from './measure.ts'
import { type Server, startTurnpike, startUpstream } from './servers.ts'

const { values } = parseArgs({
  options: {
    idle: { type: 'string', default: '60' },
    calls: { type: 'string', default: '6000' },
    rounds: { type: 'string', default: '5' },
  },
})
const idleMs = Number(values.idle) * 1_000
const calls = Number(values.calls)
const CONNECTIONS = 4
/** The load comes in pieces, in turns, so that other work of the machine meets both. */
const PIECES = 4

const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer()
    server.on('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0))
    })
  })

const figures = [
  'MB when idle',
  'ms of processor a minute when idle',
  'µs of processor a call',
  'MB after the load',
] as const
type Figure = (typeof figures)[number]
const kinds = ['on', 'off'] as const
type Kind = (typeof kinds)[number]

const found = new Map<string, number[]>()
const note = (kind: Kind, figure: Figure, value: number): void => {
  const name = `${kind} ${figure}`
  found.set(name, [...(found.get(name) ?? []), value])
}

const body = bodyOf(400)

const measureRound = async (servers: Readonly<Record<Kind, Server>>): Promise<void> => {
  // By now the work after a start is done.
  await Bun.sleep(5_000)
  const before = { on: cpuSeconds(servers.on), off: cpuSeconds(servers.off) }
  await Bun.sleep(idleMs)
  for (const kind of kinds) {
    note(
      kind,
      'ms of processor a minute when idle',
      ((cpuSeconds(servers[kind]) - before[kind]) * 60_000_000) / idleMs,
    )
    note(kind, 'MB when idle', residentMb(servers[kind]))
  }
  const piece = { connections: CONNECTIONS, seconds: 600, calls: Math.trunc(calls / PIECES) }
  for (const kind of kinds) await load(servers[kind], body, piece)
  const used = { on: 0, off: 0 }
  for (let n = 0; n < PIECES; n++)
    for (const kind of n % 2 === 0 ? kinds : kinds.toReversed()) {
      const { cpuMicros, failed } = await load(servers[kind], body, piece)
      if (failed > 0) throw new Error(`${failed} calls failed`)
      used[kind] += cpuMicros / PIECES
    }
  for (const kind of kinds) {
    note(kind, 'µs of processor a call', used[kind])
    note(kind, 'MB after the load', residentMb(servers[kind]))
  }
}

const upstream = await startUpstream()
try {
  for (let round = 0; round < Number(values.rounds); round++) {
    const started: Server[] = []
    try {
      const start = async (kind: Kind): Promise<Server> => {
        const settings = { CONSOLE: kind }
        const server = await startTurnpike(upstream, { engine: 'sqlite', port: await freePort(), settings })
        started.push(server)
        return server
      }
      // In turns, so that neither is always the older.
      const [first, second] = round % 2 === 0 ? kinds : kinds.toReversed()
      const [one, other] = [await start(first ?? 'on'), await start(second ?? 'off')]
      await measureRound(first === 'on' ? { on: one, off: other } : { on: other, off: one })
    } finally {
      for (const server of started) await server.stop()
    }
  }
} finally {
  await upstream.stop()
}

const shown = (kind: Kind, figure: Figure): string => {
  const sorted = (found.get(`${kind} ${figure}`) ?? []).toSorted((a, b) => a - b)
  return `${quantile(sorted, 0.5).toFixed(0)} (${sorted[0]?.toFixed(0)} to ${sorted.at(-1)?.toFixed(0)})`
}
process.stdout.write('figure | console on, never opened | CONSOLE=off\n--- | ---: | ---:\n')
for (const figure of figures)
  process.stdout.write(`${figure} | ${shown('on', figure)} | ${shown('off', figure)}\n`)
