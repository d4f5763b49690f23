/**
 * `npm run bench`: all servers against one upstream in one run. Options: --quick, --json. With --scale, --overload, --vouchers,
 * --router or --cells the file of that name in bench runs instead, with the options behind it.
 */
import { cpus } from 'node:os'
import { manyKeys } from './many-keys.ts'
import { bodyOf, load, median, openStreams, residentMb, type Sample } from './measure.ts'
import { type Row, writeReport } from './report.ts'
import { type Server, startBare, startNginx, startPortkey, startTurnpike, startUpstream } from './servers.ts'

const other = process.argv.findIndex((option) =>
  ['--scale', '--overload', '--vouchers', '--router', '--cells'].includes(option),
)
if (other > 0) {
  const [option = '', ...options] = process.argv.slice(other)
  const child = Bun.spawn([process.execPath, `${import.meta.dir}/${option.slice(2)}.ts`, ...options], {
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  process.exit(await child.exited)
}
const quick = process.argv.includes('--quick')
const asJson = process.argv.includes('--json')
const rounds = quick ? 4 : 6
const seconds = quick ? 0.6 : 3
/** The first turn only warms up: code that is not compiled yet costs a third more. The first row warms up for all. */
const warmSeconds = quick ? 1 : 2
const firstWarmSeconds = 4
/** With 512 callers who wait for each other and for no vendor, turns are long and nobody is overloaded. */
const patient = { OVERLOAD_MS: '1000' }
const note = (text: string) => process.stderr.write(`${text}\n`)
const round = (value: number, digits = 1) => Number(value.toFixed(digits))
const running: Server[] = []
const kept = <T extends Server | undefined>(server: T): T => {
  if (server !== undefined) running.push(server)
  return server
}
/** Stops all but these. */
const stopAll = async (...but: readonly Server[]) => {
  for (const server of running.splice(0).reverse())
    if (but.includes(server)) running.unshift(server)
    else await server.stop().catch(() => undefined)
}
process.on('SIGINT', () => void stopAll().then(() => process.exit(1)))

const rows: Row[] = []
const result: Record<string, number> = {}

/** Measures the servers in turns, so that a machine whose speed drifts treats them alike. */
const inTurns = async (
  servers: readonly Server[],
  what: string,
  body: string,
  it: { connections: number; first?: boolean },
): Promise<Map<string, Sample[]>> => {
  const samples = new Map<string, Sample[]>()
  for (let turn = 0; turn <= rounds; turn++)
    for (const server of servers) {
      const warm = rows.length === 0 ? firstWarmSeconds : warmSeconds
      const sample = await load(server, body, { ...it, seconds: turn === 0 ? warm : seconds })
      if (sample.failed > 0) note(`${what}: ${server.name}: ${sample.failed} of ${sample.calls} calls failed`)
      if (turn > 0) samples.set(server.name, [...(samples.get(server.name) ?? []), sample])
    }
  return samples
}

const tell = (what: string, samples: Map<string, Sample[]>, per: number, unit: string): void => {
  for (const [server, list] of samples) {
    const cpu = median(list.map((one) => one.cpuMicros)) / per
    rows.push({
      what,
      server,
      cpu: `${round(cpu)} µs/${unit}`,
      rate: `${Math.round(median(list.map((one) => (one.calls * per) / one.seconds)))}/s`,
      p50: `${round(median(list.map((one) => one.p50)), 2)} ms`,
      p99: `${round(median(list.map((one) => one.p99)), 2)} ms`,
    })
    note(`${what} · ${server}: ${round(cpu)} µs CPU a ${unit}`)
  }
}

/** Median of the ratios turn by turn. */
const ratio = (samples: Map<string, Sample[]>, a: string, b: string): number => {
  const [left, right] = [samples.get(a) ?? [], samples.get(b) ?? []]
  return round(median(left.map((one, index) => one.cpuMicros / (right[index]?.cpuMicros ?? Number.NaN))), 2)
}

try {
  const upstream = kept(await startUpstream())
  // Below the ports that a system gives to outgoing connections.
  const base = 20_000 + Math.floor(Math.random() * 10_000)
  const bare = kept(await startBare(upstream))
  const sqlite = kept(await startTurnpike(upstream, { engine: 'sqlite', port: base, settings: patient }))
  const portkey = kept(await startPortkey(upstream, base + 1))
  const nginx = quick ? undefined : kept(await startNginx(upstream, base + 2))
  const postgres = kept(
    await startTurnpike(upstream, { engine: 'postgres', port: base + 3, settings: patient }),
  )
  const signed = quick
    ? undefined
    : kept(await startTurnpike(upstream, { engine: 'sqlite', port: base + 6, receipts: true }))
  const signedPostgres = quick
    ? undefined
    : kept(await startTurnpike(upstream, { engine: 'postgres', port: base + 8, receipts: true }))
  const all = [bare, sqlite, postgres, signed, signedPostgres, portkey, nginx].filter(
    (server) => server !== undefined,
  )
  const small = await inTurns(all, 'call of 1 KB', bodyOf(1_000), { connections: 48 })
  tell('call of 1 KB, 48 connections', small, 1, 'call')
  result.cpu_ratio_vs_bare_proxy = ratio(small, sqlite.name, bare.name)
  result.cpu_ratio_postgres_vs_bare_proxy = ratio(small, postgres.name, bare.name)
  if (portkey !== undefined) result.cpu_ratio_portkey_vs_turnpike = ratio(small, portkey.name, sqlite.name)
  if (signed !== undefined)
    result.cpu_ratio_with_receipts_vs_bare_proxy = ratio(small, signed.name, bare.name)
  if (signedPostgres !== undefined)
    result.cpu_ratio_postgres_with_receipts = ratio(small, signedPostgres.name, bare.name)
  if (!quick)
    for (const connections of [1, 4, 32, 512]) {
      const some = [bare, sqlite, postgres]
      const what = `call of 1 KB, ${connections} connection${connections === 1 ? '' : 's'}`
      const samples = await inTurns(some, what, bodyOf(1_000), { connections })
      tell(what, samples, 1, 'call')
      for (const [name, server] of [
        ['sqlite', sqlite],
        ['postgres', postgres],
      ] as const)
        result[`cpu_ratio_${name}_${connections}_connections`] = ratio(samples, server.name, bare.name)
    }
  const pair = [bare, sqlite]
  const large = await inTurns(pair, 'prompt of 420 KB', bodyOf(420_000), { connections: 8 })
  tell('prompt of 420 KB, 8 connections', large, 1, 'call')
  result.cpu_ratio_420kb_vs_bare_proxy = ratio(large, sqlite.name, bare.name)
  // The same vendor, called in another style than its own: the two members name one user in either style.
  const translated = { ...sqlite, name: `${sqlite.name}, messages to chat completions`, path: '/v1/messages' }
  const streamed = await inTurns(
    [...pair, translated],
    'stream of 200 chunks',
    bodyOf(1_000, { stream: true, user: 's200x0x0', metadata: { user_id: 's200x0x0' } }),
    { connections: 16 },
  )
  tell('stream of 200 chunks, 16 connections', streamed, 200, 'chunk')
  result.cpu_ratio_per_chunk_vs_bare_proxy = ratio(streamed, sqlite.name, bare.name)
  result.cpu_ratio_translated_vs_passed_chunk = ratio(streamed, translated.name, sqlite.name)
  const opened = await inTurns(
    quick ? pair : [...pair, postgres],
    'first token',
    bodyOf(1_000, { stream: true, user: 's3x50x0' }),
    { connections: 32, first: true },
  )
  tell('first token of a stream after 50 ms, 32 open', opened, 1, 'call')
  const firstToken = (server: Server) => median((opened.get(server.name) ?? []).map((one) => one.p50))
  result.added_first_token_ms_p50 = round(firstToken(sqlite) - firstToken(bare), 2)
  if (!quick) {
    // PostgreSQL cleans up after them meanwhile, which would count.
    await stopAll(upstream, bare, sqlite)
    await longParts(upstream, { bare, sqlite, base })
  }
} finally {
  await stopAll()
}

async function longParts(
  upstream: Server,
  it: { bare: Server; sqlite: Server; base: number },
): Promise<void> {
  const held = await openStreams(it.sqlite, 3_000, bodyOf(500, { stream: true, user: 's8x0x1000' }))
  result.memory_mb_3000_streams = Math.round(held.megabytes)
  rows.push({
    what: '3 000 open streams',
    server: it.sqlite.name,
    cpu: '',
    rate: `${held.completed} completed`,
    p50: `${Math.round(held.megabytes)} MB`,
    p99: `${Math.round(held.before)} MB before`,
  })
  const marks: string[] = []
  for (let thousand = 0; thousand < 200; thousand += 50) {
    await load(it.sqlite, bodyOf(200), { connections: 48, seconds: 300, calls: 50_000 })
    marks.push(`${Math.round(residentMb(it.sqlite))}`)
    note(`memory after ${thousand + 50} 000 calls: ${marks.at(-1)} MB`)
  }
  rows.push({
    what: 'memory after 50, 100, 150, 200 thousand calls',
    server: it.sqlite.name,
    cpu: '',
    rate: '',
    p50: `${marks.join(', ')} MB`,
    p99: '',
  })
  for (const engine of ['sqlite', 'postgres'] as const) {
    const keys = await manyKeys(upstream, it.bare, { engine, port: it.base + 7 })
    rows.push(...keys.rows)
    Object.assign(result, keys.result)
  }
  const one = await rateOf(await startTurnpike(upstream, { engine: 'postgres', port: it.base + 4 }))
  const two = await rateOf(
    await startTurnpike(upstream, { engine: 'postgres', port: it.base + 5, workers: 2 }),
  )
  result.two_workers_vs_one = round(two / one, 2)
  rows.push({
    what: 'two workers against one, PostgreSQL',
    server: `${cpus().length} cores for all processes`,
    cpu: '',
    rate: `${Math.round(one)}/s → ${Math.round(two)}/s`,
    p50: '',
    p99: '',
  })
}

async function rateOf(server: Server): Promise<number> {
  try {
    await load(server, bodyOf(1_000), { connections: 64, seconds: 2 })
    const samples = [
      await load(server, bodyOf(1_000), { connections: 64, seconds: 5 }),
      await load(server, bodyOf(1_000), { connections: 64, seconds: 5 }),
    ]
    return median(samples.map((sample) => sample.calls / sample.seconds))
  } finally {
    await server.stop()
  }
}

if (!quick) await writeReport(rows, result)
if (!asJson)
  for (const row of rows)
    process.stdout.write(`${row.what} | ${row.server} | ${row.cpu} | ${row.rate} | ${row.p50} | ${row.p99}\n`)
process.stdout.write(`${JSON.stringify(result)}\n`)
