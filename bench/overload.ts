/**
 * Overload: `bun bench/overload.ts [postgres]`. Calls are offered at a fixed rate, whether or not earlier ones have ended, first
 * under and then far over what one process can do; prints how many end well a second, and how many are turned away.
 */
import { Agent } from 'node:http'
import { cpus, loadavg } from 'node:os'
import { bodyOf, callOnce, modelFor } from './measure.ts'
import { type Server, startTurnpike, startUpstream } from './servers.ts'

/** A long prompt, so that one process is overloaded by fewer calls than the generator can send. */
const BODY_BYTES = 60_000
const SECONDS = 5
/** A call that takes longer is of no use. */
const PATIENCE_MS = 5_000

type Offered = { readonly sent: number; readonly good: number; readonly away: number; readonly slow: number }

/** Offers `rate` calls a second; counts from the second third on, when the queues have filled. */
const offer = async (server: Server, rate: number): Promise<Offered> => {
  const agent = new Agent({ keepAlive: true, maxSockets: 4_000 })
  const body = Buffer.from(modelFor(server, bodyOf(BODY_BYTES)))
  const counted = { good: 0, away: 0, slow: 0 }
  const started = performance.now()
  const countsFrom = started + (SECONDS * 1000) / 3
  const countsTo = started + SECONDS * 1000
  const one = async (): Promise<void> => {
    const got = await callOnce(server, agent, body).catch(() => undefined)
    const now = performance.now()
    if (now < countsFrom || now > countsTo) return
    if (got?.status === 200 && got.totalMs < PATIENCE_MS) counted.good++
    else if (got?.status === 503) counted.away++
    else counted.slow++
  }
  const open = new Set<Promise<void>>()
  let sent = 0
  for (; performance.now() < countsTo; await Bun.sleep(2))
    for (const due = ((performance.now() - started) / 1000) * rate; sent < due; sent++) {
      const call = one().finally(() => open.delete(call))
      open.add(call)
    }
  await Promise.race([Promise.all(open), Bun.sleep(PATIENCE_MS)])
  agent.destroy()
  const a = (count: number) => Math.round(count / ((SECONDS * 2) / 3))
  return {
    sent: Math.round(sent / SECONDS),
    good: a(counted.good),
    away: a(counted.away),
    slow: a(counted.slow),
  }
}

const upstream = await startUpstream()
const server = await startTurnpike(upstream, {
  engine: process.argv[2] === 'postgres' ? 'postgres' : 'sqlite',
  port: 20_000 + Math.floor(Math.random() * 10_000),
})
const lines = [`${server.name}; load of the machine before: ${loadavg()[0]?.toFixed(1)}`]
/** The server has one core to itself, so that what is measured is its overload and not that of who sends the calls. */
const pin = (pids: readonly number[], cores: string): void => {
  if (Bun.which('taskset') !== null)
    for (const pid of pids) Bun.spawnSync(['taskset', '-acp', cores, String(pid)], { stdout: 'ignore' })
}
const last = cpus().length - 1
if (last > 0) {
  pin(server.pids, '0')
  pin([process.pid, ...upstream.pids], `1-${last}`)
}
let best = 0
for (const rate of [700, 1_400, 2_100, 2_800]) {
  const { good, away, slow } = await offer(server, rate)
  best = Math.max(best, good)
  lines.push(`offered ${rate}/s: ${good}/s end well, ${away}/s turned away, ${slow}/s late`)
}
const over = await offer(server, best * 3)
lines.push(
  `wanted ${best * 3}/s, three times the best, sent ${over.sent}/s: ${over.good}/s end well, ${over.away}/s turned away, ${over.slow}/s late`,
  `of the best: ${Math.round((over.good / best) * 100)} %`,
)
process.stdout.write(`${lines.join('\n')}\n`)
await server.stop()
await upstream.stop()
process.exit(0)
