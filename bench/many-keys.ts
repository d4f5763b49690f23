/**
 * Keys that call now and then: ten thousand in turn, first each for its first time at the process, then again and again, beside the
 * bare proxy in alternating turns. And the bytes that a call leaves in the ledger for good.
 */
import { Database } from 'bun:sqlite'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { postgresForTests } from '../test/postgres.ts'
import { bodyOf, load, median, type Sample } from './measure.ts'
import { type DatabaseCpu, postgresCpu } from './postgres-cpu.ts'
import type { Row } from './report.ts'
import { calledBy, openLedger, SECRET } from './scale-ledger.ts'
import { type Server, startTurnpike } from './servers.ts'

const KEYS = 10_000
/** Others, which make the process warm. */
const WARM_KEYS = 10
const TURNS = 4
/** Of all keys; the first is that of first calls, and the second makes warm what those after it do. */
const ROUNDS = 4
const CONNECTIONS = 48
/** Longer than leases lay idle when they still went back by themselves. */
const REST_MS = 3_000
const body = bodyOf(1_000)

type Engine = 'sqlite' | 'postgres'
type Turn = { readonly proxy: Sample; readonly own: Sample; readonly databaseMicros: number }

/** Bytes of the rows and indexes of calls. */
const bytesOfCalls = async (url: string): Promise<number> => {
  if (url.startsWith('sqlite:')) {
    const file = new Database(url.slice('sqlite:'.length), { readonly: true })
    const sum = `select sum(pgsize) as bytes from dbstat where name like 'transfer%' or name like 'usage_detail%'`
    const { bytes } = file.query<{ bytes: number }, []>(sum).get() ?? { bytes: 0 }
    file.close()
    return bytes
  }
  const sql = new Bun.SQL(url, { max: 1 })
  const sum = `select coalesce(sum(pg_total_relation_size(c.oid)), 0) as bytes from pg_class c
    where c.relkind = 'r' and (c.relname = 'transfer' or c.relname like 'usage\\_detail%')`
  const [{ bytes }] = await sql.unsafe(sum)
  await sql.close()
  return Number(bytes)
}

/** One round of all keys, in turns with the proxy. */
const roundOf = async (bare: Server, server: Server, databaseCpu: DatabaseCpu): Promise<Turn[]> => {
  const turns: Turn[] = []
  const it = { connections: CONNECTIONS, seconds: 600, calls: KEYS / TURNS }
  for (let turn = 0; turn < TURNS; turn++) {
    const proxy = await load(bare, body, it)
    const before = databaseCpu()
    const own = await load(server, body, it)
    if (own.failed > 0) throw new Error(`${own.failed} of ${own.calls} calls failed`)
    turns.push({ proxy, own, databaseMicros: ((databaseCpu() - before) / own.calls) * 1e6 })
  }
  return turns
}

export const manyKeys = async (
  upstream: Server,
  bare: Server,
  { engine, port }: { readonly engine: Engine; readonly port: number },
): Promise<{ readonly rows: readonly Row[]; readonly result: Readonly<Record<string, number>> }> => {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-keys-'))
  const database = engine === 'postgres' ? await postgresForTests() : undefined
  const url = database?.url ?? `sqlite:${folder}/ledger.db`
  const databaseCpu = database === undefined ? () => 0 : await postgresCpu(url)
  const ledger = await openLedger(url, KEYS)
  await ledger.growKeys(KEYS + WARM_KEYS)
  await ledger.settle()
  await ledger.close()
  const started = await startTurnpike(upstream, {
    ...{ engine, port, ledger: url, settings: { TURNPIKE_SECRET: SECRET } },
  })
  try {
    let call = 0
    const warm = calledBy(started, () => KEYS + (call++ % WARM_KEYS))
    for (const server of [bare, warm]) await load(server, body, { connections: CONNECTIONS, seconds: 4 })
    call = 0
    const server = calledBy(started, () => call++ % KEYS)
    const rounds: Turn[][] = []
    for (let round = 0; round < ROUNDS; round++) {
      rounds.push(await roundOf(bare, server, databaseCpu))
      await Bun.sleep(REST_MS)
    }
    const [first = [], , ...later] = rounds
    const before = await bytesOfCalls(url)
    await load(server, body, { connections: CONNECTIONS, seconds: 600, calls: KEYS })
    const bytes = Math.round(((await bytesOfCalls(url)) - before) / KEYS)
    const told = [
      tell(`first call of each of ${KEYS} keys`, 'first', first),
      tell(`call of 1 KB, each of ${KEYS} keys in turn`, 'turn', later.flat()),
    ]
    return {
      rows: told.flatMap(({ rows }) => rows),
      result: Object.assign({}, ...told.map(({ result }) => result), {
        [`bytes_a_call_${engine}`]: bytes,
      }),
    }
  } finally {
    await started.stop()
    await database?.stop()
    rmSync(folder, { recursive: true })
  }

  function tell(what: string, name: string, turns: readonly Turn[]) {
    const row = (of: string, samples: readonly Sample[], more = ''): Row => ({
      ...{ what, server: of },
      cpu: `${median(samples.map((one) => one.cpuMicros)).toFixed(1)} µs/call${more}`,
      rate: `${Math.round(median(samples.map((one) => one.calls / one.seconds)))}/s`,
      p50: `${median(samples.map((one) => one.p50)).toFixed(2)} ms`,
      p99: `${median(samples.map((one) => one.p99)).toFixed(2)} ms`,
    })
    const micros = Math.round(median(turns.map((one) => one.databaseMicros)))
    const own = turns.map((one) => one.own)
    const proxies = turns.map((one) => one.proxy)
    const ratio = median(turns.map((one) => one.own.cpuMicros / one.proxy.cpuMicros))
    return {
      rows: [
        row(bare.name, proxies),
        row(started.name, own, engine === 'postgres' ? `, database ${micros}` : ''),
      ],
      result: {
        [`cpu_ratio_${engine}_${name}`]: Number(ratio.toFixed(2)),
        ...(engine === 'postgres' ? { [`database_micros_${name}`]: micros } : {}),
      },
    }
  }
}
