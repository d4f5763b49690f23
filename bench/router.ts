/**
 * `npm run bench -- --router [--turns N] [--seconds N] [--connections N]`: the router of cells and the bare proxy before one
 * upstream, in turns, so that a machine whose speed drifts treats them alike. Prints the processor time of a call of each and
 * the median of the quotients of turns beside each other.
 */
import { parseArgs } from 'node:util'
import { bodyOf, load, median } from './measure.ts'
import { startBare, startRouter, startUpstream } from './servers.ts'

const { values } = parseArgs({
  options: {
    turns: { type: 'string', default: '8' },
    seconds: { type: 'string', default: '1.5' },
    connections: { type: 'string', default: '32' },
  },
})
const connections = Number(values.connections)
const upstream = await startUpstream()
const bare = await startBare(upstream)
const router = await startRouter(upstream)
const bodies = [
  ['whole, 500 bytes', bodyOf(500)],
  ['whole, 100 kB', bodyOf(100_000)],
  ['streamed', bodyOf(500, { stream: true })],
] as const
const round = (value: number) => Number(value.toFixed(2))
try {
  for (const [name, body] of bodies) {
    const quotients: number[] = []
    const spent: { bare: number[]; router: number[] } = { bare: [], router: [] }
    for (let turn = 0; turn <= Number(values.turns); turn++) {
      const seconds = turn === 0 ? 3 : Number(values.seconds)
      const [one, other] = [
        await load(bare, body, { connections, seconds }),
        await load(router, body, { connections, seconds }),
      ]
      if (one.failed + other.failed > 0) throw new Error(`${one.failed} and ${other.failed} calls failed`)
      if (turn === 0) continue
      spent.bare.push(one.cpuMicros)
      spent.router.push(other.cpuMicros)
      quotients.push(other.cpuMicros / one.cpuMicros)
    }
    const row = [median(spent.bare), median(spent.router), median(quotients)].map(round)
    const [least, most] = [round(Math.min(...quotients)), round(Math.max(...quotients))]
    process.stdout.write(`| ${name} | ${row.join(' | ')} | ${least} to ${most} |\n`)
  }
} finally {
  for (const server of [router, bare, upstream]) await server.stop()
}
