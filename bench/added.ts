/**
 * `bun bench/added.ts [--engine postgres] [--turns N] [--seconds N] [--connections N] [--delay ms]`: the time that a
 * server says it added to its answers, by its own histogram, against a clock outside: how much longer its callers wait
 * than those of a proxy that only passes on. Both are called in turns.
 */
import { parseArgs } from 'node:util'
import { bodyOf, load, median } from './measure.ts'
import { type Server, startBare, startTurnpike, startUpstream } from './servers.ts'

const { values } = parseArgs({
  options: {
    engine: { type: 'string', default: 'sqlite' },
    turns: { type: 'string', default: '7' },
    seconds: { type: 'string', default: '3' },
    connections: { type: 'string', default: '1' },
    delay: { type: 'string', default: '5' },
  },
})
const TOKEN = 'a-token-for-the-metrics'
const connections = Number(values.connections)
const body = bodyOf(1_000)

/** The histogram's sum in seconds, and its count of calls. */
const toldBy = async ({ url }: Server): Promise<{ readonly sum: number; readonly count: number }> => {
  const answer = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${TOKEN}` } })
  const text = await answer.text()
  const of = (part: string) =>
    Number(new RegExp(`^turnpike_added_latency_seconds_${part}\\{.*\\} (\\S+)$`, 'm').exec(text)?.[1] ?? 0)
  return { sum: of('sum'), count: of('count') }
}

/** Milliseconds of a call on average. */
const meanOf = async (server: Server, seconds: number): Promise<number> => {
  const sample = await load(server, body, { connections, seconds })
  if (sample.failed > 0) throw new Error(`${sample.failed} calls failed`)
  return (sample.seconds * 1_000 * connections) / sample.calls
}

const upstream = await startUpstream({ BENCH_DELAY: values.delay })
const bare = await startBare(upstream)
const server = await startTurnpike(upstream, {
  engine: values.engine === 'postgres' ? 'postgres' : 'sqlite',
  port: 20_000 + Math.floor(Math.random() * 10_000),
  settings: { METRICS_TOKEN: TOKEN, OVERLOAD_MS: '0' },
})
try {
  const ratios: number[] = []
  for (let turn = 0; turn <= Number(values.turns); turn++) {
    const direct = await meanOf(bare, Number(values.seconds))
    const before = await toldBy(server)
    const through = await meanOf(server, Number(values.seconds))
    const after = await toldBy(server)
    const told = ((after.sum - before.sum) * 1_000) / (after.count - before.count)
    const added = through - direct
    if (turn > 0) ratios.push(told / added)
    process.stderr.write(
      `proxy ${direct.toFixed(3)} ms, server ${through.toFixed(3)} ms, added ${added.toFixed(3)} ms, told ${told.toFixed(3)} ms\n`,
    )
  }
  process.stdout.write(
    `told of added: ${median(ratios).toFixed(3)} (${ratios.map((one) => one.toFixed(3)).join(', ')})\n`,
  )
} finally {
  for (const one of [server, bare, upstream]) await one.stop()
}
process.exit(0)
