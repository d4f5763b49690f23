/**
 * The log of receipts when processes are killed while they add to it, and when its database goes back: one root for each size,
 * whoever signs it, and what was shown before is noticed.
 */
import { expect, test } from 'bun:test'
import { join } from 'node:path'
import fc from 'fast-check'
import { silentLog } from '../../src/core/log.ts'
import { growLog } from '../../src/gateway/keep-sealing.ts'
import { type KeptEnd, newLogWatch } from '../../src/gateway/watch-log.ts'
import { signLogHead } from '../../src/receipts/log-head.ts'
import { openStore } from '../../src/store/open-store.ts'
import { byTest } from '../by-test.ts'
import { openView } from '../chaos/view.ts'
import { seed } from '../seed.ts'
import { callsOf, logSigner as signer } from '../store/audit-scene.ts'
import { brokenLaws, engines } from '../store/engines.ts'
import { CENT } from '../store/world.ts'
import { tempFolder } from '../temp-folder.ts'

const START = Date.UTC(2026, 10, 20, 12)
const CALLS = 40
/** Each call is in a step of its own: more time lies between two than is read at once. */
const BETWEEN_MS = 11_000
const AFTER = START + 1_000 * BETWEEN_MS

type Engine = (typeof engines)[number]

/** Books with calls of which none is in the log yet. */
const books = async (engine: Engine) => {
  const database = await engine.fresh()
  let now = START
  const store = await openStore({ url: database.url, now: () => now })
  await store.log.grow((end) => signLogHead(signer, end))
  await store.wallets.createWallet({ id: 'w', orgId: 'o', name: 'w' }, byTest)
  await store.ledger.post({ kind: 'topup', ref: 'first', debit: 'cash', credit: 'w', amount: 1_000n * CENT })
  const key = { id: 'k', hash: 'h', orgId: 'o', walletId: 'w', label: 'l', prefix: 'p', limits: {} }
  await store.keys.createKey(key, byTest)
  const { call } = callsOf(store)
  for (let n = 0; n < CALLS; n++) {
    now += BETWEEN_MS
    await call({ keyId: 'k', leaseId: `i:${n}` }, `call-${n}`, 'w')
  }
  now = AFTER
  return { database, store }
}

/** One process that is killed after so many ends. Returns whether it had added all before. */
const grower = async (
  url: string,
  killedAfter: number,
  roots: Map<number, Set<string>>,
): Promise<boolean> => {
  const child = Bun.spawn(['bun', join(import.meta.dir, 'log-grower.ts'), url, String(AFTER)], {
    stdout: 'pipe',
    stderr: 'inherit',
  })
  let [text, seen] = ['', 0]
  for await (const bytes of child.stdout) {
    text += new TextDecoder().decode(bytes)
    seen = text.split('\n').length - 1
    if (seen >= killedAfter) child.kill('SIGKILL')
  }
  await child.exited
  const lines = text.split('\n').slice(0, seen)
  for (const line of lines) {
    const [size, root = ''] = line.split(' ')
    if (line !== 'all') roots.set(Number(size), (roots.get(Number(size)) ?? new Set()).add(root))
  }
  return lines.includes('all')
}

for (const engine of engines.filter(({ lasting }) => lasting))
  test(`whoever is killed while it grows, it has one root of each size, on ${engine.name}`, async () => {
    const lives = fc.sample(fc.integer({ min: 2, max: CALLS / 2 }), { seed, numRuns: 500 })
    const { database, store } = await books(engine)
    const roots = new Map<number, Set<string>>()
    const postgres = engine.name === 'PostgreSQL'
    let copy: string | undefined
    for (let ended = false; !ended; ) {
      const few = () => lives.pop() ?? CALLS
      // An embedded ledger has one process.
      const round = postgres ? [few(), few()] : [few()]
      if (!postgres && copy === undefined && roots.size > 0) {
        copy = join(await tempFolder('turnpike-log-'), 'copy.db')
        const view = openView(database.url)
        await view.rows(`vacuum into '${copy}'`)
        await view.close()
      }
      ended = (await Promise.all(round.map((after) => grower(database.url, after, roots)))).some(Boolean)
    }
    // Somebody was killed before all was in.
    expect(lives.length).toBeLessThan(499)
    expect([...roots].filter(([, found]) => found.size > 1)).toEqual([])
    const end = await store.log.end()
    expect(end?.size).toBe(CALLS)
    expect(await brokenLaws(store)).toEqual([])
    if (copy !== undefined) {
      const restored = await openStore({ url: `sqlite:${copy}`, now: () => AFTER })
      expect((await restored.log.end())?.size).toBeLessThan(CALLS)
      while (await restored.log.grow((next) => signLogHead(signer, next)));
      expect(Buffer.from((await restored.log.end())?.root ?? '').toString('hex')).toBe(
        Buffer.from(end?.root ?? '').toString('hex'),
      )
      await restored.close()
    }
    await store.close()
    await database.stop()
  })

for (const engine of engines.filter(({ lasting }) => lasting))
  test(`a log that is behind what was shown signs nothing until it is there again, and another one never, on ${engine.name}`, async () => {
    const { database, store } = await books(engine)
    const view = openView(database.url)
    let file: Awaited<ReturnType<KeptEnd['read']>>
    const kept: KeptEnd = {
      read: async () => file,
      write: async (end) => {
        file = end
      },
    }
    const keys = { signer: () => signer, published: async () => [] }
    const process = () => newLogWatch(kept, silentLog)
    const grow = (shown = process()) => growLog({ receipts: store.log, keys, shown })
    const back = async () => {
      await view.rows('delete from log_tile')
      const [began] = await view.rows('select began from log_end')
      await view.rows(`update log_end set size = 0, root = '${empty}', until = ${began?.began}`)
    }
    const empty = Buffer.from((await store.log.end())?.root ?? '').toString('hex')
    await grow()
    const whole = await store.log.end()
    expect([whole?.size, whole?.token !== '']).toEqual([CALLS, true])

    // It is noticed by a process that starts, and while it grows no end is signed.
    await back()
    const shown = process()
    await shown.look(store.log)
    expect(shown.trouble()).toContain('had grown further')
    await store.log.grow((end, from) => (shown.maySign(from) ? signLogHead(signer, end) : ''))
    expect((await store.log.end())?.token).toBe('')
    await grow(shown)
    expect(shown.trouble()).toBeUndefined()
    expect(await store.log.end()).toMatchObject({ size: CALLS, root: whole?.root })
    expect((await store.log.end())?.token).not.toBe('')

    // What was lost for good makes another log: it stands still, and each process says so.
    await back()
    await view.rows(`update usage_detail set model = 'x' || model where call_id = 'call-7'`)
    const other = process()
    await grow(other)
    expect(other.trouble()).toContain('another one')
    expect(await store.log.end()).toMatchObject({ size: CALLS, token: '' })
    await view.rows('update log_end set at = 5')
    await grow(process())
    expect(await store.log.end()).toMatchObject({ token: '', at: 5 })
    await view.close()
    await store.close()
    await database.stop()
  })
