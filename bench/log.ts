/**
 * `npx bun bench/log.ts [entries]`: what the log of receipts costs: a proof among that many entries (10 million) on SQLite, and
 * the CPU of adding one call, which another turn than the call's pays.
 */
import { Database } from 'bun:sqlite'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { consistencyOf, inclusionOf } from '../src/gateway/log-proof.ts'
import { nameDigest } from '../src/receipts/log-leaf.ts'
import { edgeOf, grown, leafHash, TILE, tileName } from '../src/receipts/merkle.ts'
import { openStore } from '../src/store/open-store.ts'
import { byTest } from '../test/by-test.ts'

const ENTRIES = Number(process.argv[2] ?? 10_000_000)
const STEP = 64 * TILE
const PROOFS = 2_000
const CALLS = 20_000

const folder = mkdtempSync(join(tmpdir(), 'turnpike-log-bench-'))
const say = (text: string) => process.stdout.write(`${text}\n`)
const sign = () => 'unsigned'

/** The median, the 99th of a hundred, and the longest, in milliseconds. */
const shown = (times: number[]): string => {
  times.sort((a, b) => a - b)
  const at = (share: number) => (times[Math.floor(times.length * share)] ?? 0).toFixed(2)
  return `median ${at(0.5)} ms, 99% ${at(0.99)} ms, longest ${(times.at(-1) ?? 0).toFixed(2)} ms`
}

const path = join(folder, 'proofs.db')
const store = await openStore({ url: `sqlite:${path}` })
await store.log.grow(sign)
const file = new Database(path)
const write = file.prepare(
  'insert or replace into log_tile (level, n, hashes, names, first_at, last_at) values (?, ?, ?, ?, ?, ?)',
)
const tiles = new Map<string, Uint8Array>()
let root = ''
for (let size = 0; size < ENTRIES; ) {
  const count = Math.min(STEP, ENTRIES - size)
  const edge = new Map(edgeOf(size).map((id) => [tileName(id), tiles.get(tileName(id)) ?? new Uint8Array()]))
  const leaves = Array.from({ length: count }, (_one, at) => leafHash(`call ${size + at}`))
  const after = grown(size, edge, leaves)
  file.transaction(() => {
    for (const { level, n, hashes } of after.tiles) {
      tiles.set(tileName({ level, n }), hashes)
      const names = Array.from({ length: hashes.length / 32 }, (_one, at) =>
        nameDigest(`call ${n * TILE + at}`),
      )
      const own = level === 0 ? [Buffer.concat(names), n * TILE, n * TILE + TILE - 1] : [null, null, null]
      write.run(level, n, hashes, ...own)
    }
  })()
  size = after.size
  root = Buffer.from(after.root).toString('hex')
}
file.run('update log_end set size = ?, root = ?', [ENTRIES, root])
file.close()

const times = { inclusion: [] as number[], consistency: [] as number[] }
const idle = process.cpuUsage()
for (let round = 0; round < PROOFS; round++) {
  const at = Math.floor(Math.random() * ENTRIES)
  const began = performance.now()
  const found = await inclusionOf(store.log, { name: `call ${at}`, postedAt: at })
  times.inclusion.push(performance.now() - began)
  if (found?.index !== at) throw new Error(`call ${at} was not found`)
  const again = performance.now()
  await consistencyOf(store.log, at + 1, ENTRIES)
  times.consistency.push(performance.now() - again)
}
say(`${ENTRIES} entries, ${(Bun.file(path).size / ENTRIES).toFixed(0)} bytes an entry`)
say(`a proof that one is in the log: ${shown(times.inclusion)}`)
say(`a proof that one log is the beginning: ${shown(times.consistency)}`)
const used = process.cpuUsage(idle)
// What a busy machine takes of the time is in the times above alone.
say(`two proofs, and the draw: ${((used.user + used.system) / PROOFS / 1_000).toFixed(2)} ms of CPU`)
await store.close()

// Calls of one moment, an hour ago, in a ledger whose log began before.
const other = join(folder, 'calls.db')
let now = Date.now() - 3_600_000
const calls = await openStore({ url: `sqlite:${other}`, now: () => now })
await calls.log.grow(sign)
await calls.wallets.createWallet({ id: 'w', orgId: 'o', name: 'w' }, byTest)
const key = { id: 'k', hash: 'k', orgId: 'o', walletId: 'w', label: '', prefix: '', limits: {} }
await calls.keys.createKey(key, byTest)
const detail = JSON.stringify({
  ...{
    keyId: 'k',
    model: 'v/m',
    vendor: 'v',
    usage: { input: 100, output: 20 },
    estimated: false,
    priceVersion: 'p1',
  },
  ...{ startedAt: now, tookMs: 12, firstByteMs: 5, ended: 'ok' },
  receipt: {
    ...{
      prices: { input: 50_000_000, output: 250_000_000 },
      authorized: '40000000',
      payment: { mode: 'wallet' },
    },
    ...{ requestHash: `sha256:${'a'.repeat(64)}`, responseHash: `sha256:${'b'.repeat(64)}` },
  },
})
const books = new Database(other)
books.transaction(() => {
  for (let at = 0; at < CALLS; at++) {
    const id = Bun.randomUUIDv7()
    books.run(
      `insert into transfer (kind, ref, debit, credit, amount, key_id, month, at) values ('usage', ?, 'w', 'revenue', 1, 'k', '2026-11', ?)`,
      [id, now + at],
    )
    books.run('insert into usage_detail values (?, ?, 100, 20, ?)', [id, 'v/m', detail])
  }
})()
books.close()
now += 3_600_000
const before = process.cpuUsage()
while (await calls.log.grow(sign));
const { user, system } = process.cpuUsage(before)
const end = await calls.log.end()
if ((end?.size ?? 0) < CALLS) throw new Error(`only ${end?.size} calls were added`)
say(`adding a call: ${((user + system) / CALLS).toFixed(1)} µs of CPU, beside the path of calls`)
await calls.close()
rmSync(folder, { recursive: true })
