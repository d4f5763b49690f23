/**
 * `bun bench/added.ts [--engine postgres] [--turns N] [--calls N] [--connections N] [--delay ms]`: the time that a
 * server says it added to its answers, by its own histogram, against a clock outside: how much longer its callers wait
 * than those of a proxy that only passes on. Each caller asks the one and then the other, so that both meet the same
 * machine.
 */
import { parseArgs } from 'node:util'
import { bodyOf, clientOf, median } from './measure.ts'
import { type Server, startBare, startTurnpike, startUpstream } from './servers.ts'

const { values } = parseArgs({
  options: {
    engine: { type: 'string', default: 'sqlite' },
    turns: { type: 'string', default: '7' },
    calls: { type: 'string', default: '500' },
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

const meanOf = (times: readonly number[]): number => times.reduce((sum, ms) => sum + ms, 0) / times.length

/** Milliseconds of a call on average, of the proxy and of the server: so many calls of each, over all connections. */
const pairs = async (calls: number): Promise<{ readonly direct: number; readonly through: number }> => {
  const direct: number[] = []
  const through: number[] = []
  const caller = async (): Promise<void> => {
    const asked = [
      [await clientOf(bare, body), direct],
      [await clientOf(server, body), through],
    ] as const
    for (let call = 0; call < calls / connections; call++)
      for (const [client, times] of asked) {
        const { status, totalMs } = await client.ask()
        if (status !== 200) throw new Error(`a call was answered with ${status}`)
        times.push(totalMs)
      }
    for (const [client] of asked) client.close()
  }
  await Promise.all(Array.from({ length: connections }, caller))
  return { direct: meanOf(direct), through: meanOf(through) }
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
    const before = await toldBy(server)
    const { direct, through } = await pairs(Number(values.calls))
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
