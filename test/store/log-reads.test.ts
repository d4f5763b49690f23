/** Law: a proof from the log of receipts reads a few rows, however long the log is, and no more bytes than it needs. */
import { Database } from 'bun:sqlite'
import { expect, test } from 'bun:test'
import { join } from 'node:path'
import fc from 'fast-check'
import { inclusionOf } from '../../src/gateway/log-proof.ts'
import { nameDigest } from '../../src/receipts/log-leaf.ts'
import {
  grown,
  HASH_BYTES,
  inclusionRanges,
  leafHash,
  provesInclusion,
  TILE,
  tilesOf,
} from '../../src/receipts/merkle.ts'
import type { Engine } from '../../src/store/engine/engine.ts'
import { openEngine } from '../../src/store/engine/open-engine.ts'
import { logStore } from '../../src/store/log/log-store.ts'
import { openTestStore } from '../memory-ledger.ts'
import { seed } from '../seed.ts'
import { tempFolder } from '../temp-folder.ts'

/** The same engine, which counts what its statements read. */
const counting = (engine: Engine) => {
  const read = { statements: 0, rows: 0, bytes: 0 }
  const batch: Engine['batch'] = async (lane, statements) => {
    const answers = await engine.batch(lane, statements)
    read.statements += statements.length
    for (const row of answers.flat()) {
      read.rows++
      for (const value of Object.values(row)) if (value instanceof Uint8Array) read.bytes += value.length
    }
    return answers
  }
  return { engine: { ...engine, batch }, read }
}

test(`a proof asks for four things: the end, one tile of names, the salts' secret and the tiles of its hashes, SEED=${seed}`, async () => {
  const url = `sqlite:${join(await tempFolder('turnpike-log-reads-'), 'ledger.db')}`
  const store = await openTestStore({ url })
  await store.log.grow(() => 'unsigned')
  await store.log.salt('made once')
  // More than a whole tile of leaves, and one above; several entries were posted in each millisecond.
  const ENTRIES = 258 * TILE + 17
  const POSTED_TOGETHER = 7
  const postedAt = (at: number) => Math.floor(at / POSTED_TOGETHER)
  const leaves = Array.from({ length: ENTRIES }, (_one, at) => leafHash(`call ${at}`))
  const { tiles, root } = grown(0, new Map(), leaves)
  const file = new Database(url.slice('sqlite:'.length))
  const write = file.prepare(
    'insert into log_tile (level, n, hashes, names, first_at, last_at) values (?, ?, ?, ?, ?, ?)',
  )
  file.transaction(() => {
    for (const { level, n, hashes } of tiles) {
      const first = n * TILE
      const many = hashes.length / HASH_BYTES
      const names = Array.from({ length: many }, (_one, at) => nameDigest(`call ${first + at}`))
      const its = level === 0 ? [Buffer.concat(names), postedAt(first), postedAt(first + many - 1)] : []
      write.run(level, n, hashes, its[0] ?? null, its[1] ?? null, its[2] ?? null)
    }
  })()
  file.run('update log_end set size = ?, root = ?', [ENTRIES, Buffer.from(root).toString('hex')])
  file.close()
  const opened = openEngine({ url })
  const { engine, read } = counting(opened)
  const log = logStore(engine)
  let began = 0
  await fc.assert(
    fc.asyncProperty(fc.nat(ENTRIES - 1), async (at) => {
      Object.assign(read, { statements: 0, rows: 0, bytes: 0 })
      const found = await inclusionOf(log, { name: `call ${at}`, postedAt: postedAt(at) })
      const proof = found?.proof.map((one) => Buffer.from(one, 'hex')) ?? []
      expect(provesInclusion(leafHash(`call ${at}`), { index: at, size: ENTRIES, root }, proof)).toBe(true)
      // Where the first entries of a tile were posted together with the last of the one before, that is read first.
      const before = at % TILE < POSTED_TOGETHER ? 1 : 0
      began += before
      const hashes = tilesOf(inclusionRanges(at, ENTRIES))
      expect(read.statements).toBeLessThanOrEqual(4 + before)
      expect(read.rows).toBeLessThanOrEqual(3 + before + hashes.length)
      expect(read.bytes).toBeLessThanOrEqual(
        ((TILE * HASH_BYTES) / 2) * (1 + before) + hashes.length * TILE * HASH_BYTES,
      )
    }),
    { seed, numRuns: 200, examples: [[0], [TILE], [256 * TILE], [ENTRIES - 1]] },
  )
  expect(began).toBeGreaterThan(0)
  expect(await inclusionOf(log, { name: 'no call', postedAt: 5 })).toBeUndefined()
  await opened.close()
  await store.close()
})

test(`a proof among ten million entries reads five tiles, and among a hundred million six, SEED=${seed}`, () => {
  for (const [size, most] of [
    [10_000_000, 5],
    [100_000_000, 6],
  ] as const)
    fc.assert(
      fc.property(fc.nat(size - 1), (at) => {
        expect(tilesOf(inclusionRanges(at, size)).length).toBeLessThanOrEqual(most)
      }),
      { seed, numRuns: 1_000 },
    )
})
