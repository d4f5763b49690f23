/**
 * A ledger that falls silent in the middle of a commit or an extension: every call ends in time, in one of two ways.
 */

import { afterEach, expect, test } from 'bun:test'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { byTest } from '../../test/by-test.ts'
import { openTestStore } from '../../test/memory-ledger.ts'
import { detailFor } from '../../test/store/world.ts'
import { until } from '../../test/until.ts'
import { virtualTime } from '../../test/virtual-time.ts'
import { silentLog } from '../core/log.ts'
import { Refusal } from '../core/refusal.ts'
import type { Store } from '../store/port.ts'
import { createBook } from './book.ts'
import type { Hold } from './contract.ts'
import { createOutbox } from './outbox.ts'
import { openOutboxFolder } from './outbox-folder.ts'

const START = Date.UTC(2026, 10, 21, 12)
const WALLET = 10_000_000_000n

const detail = detailFor('k')

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

/** One process with a ledger whose commits succeed, or whose answers or requests get lost from some moment on. */
const scene = async () => {
  const time = virtualTime(START)
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-in-doubt-'))
  const store = await openTestStore({ url: 'sqlite::memory:', now: () => START + time.now(), shared: true })
  closing.push(async () => {
    await store.close()
    rmSync(folder, { recursive: true, force: true })
  })
  await store.wallets.createWallet({ id: 'w', orgId: 'o', name: 'w' }, byTest)
  await store.ledger.post({ kind: 'topup', ref: 'first', debit: 'cash', credit: 'w', amount: WALLET })
  const [orgId, walletId] = ['o', 'w']
  await store.keys.createKey(
    { id: 'k', hash: 'h', orgId, walletId, label: 'k', prefix: 'k', limits: {} },
    byTest,
  )
  const key = (await store.keys.key('k'))!
  const ledger = { silent: false, heard: true, slowMs: 0, beats: true, beatMs: 0 }
  const commit: Store['ledger']['commit'] = async (batch) => {
    if (ledger.slowMs > 0) await time.clock.sleep(ledger.slowMs)
    if (!ledger.silent) return store.ledger.commit(batch)
    if (ledger.heard) await store.ledger.commit(batch)
    await time.clock.sleep(5_000)
    throw new Error('no answer')
  }
  const beat: Store['instances']['beat'] = (...given) =>
    ledger.beats
      ? store.instances.beat(...given)
      : time.clock.sleep(ledger.beatMs).then(() => Promise.reject(new Error('no answer')))
  const outbox = createOutbox({
    folder: await openOutboxFolder(folder),
    ledger: 'l',
    instance: 'a',
    log: silentLog,
  })
  const book = createBook({
    store: { ...store, instances: { ...store.instances, beat }, ledger: { ...store.ledger, commit } },
    clock: time.clock,
    instance: 'a',
    random: () => 0,
    log: silentLog,
    outbox,
  })
  const started = book.start()
  await until(async () => {
    await time.pass(50)
    return book.health().fresh
  }, 1)
  await started
  const open = async (callId: string, amount = 1_000n): Promise<Hold> => {
    const hold = await book.hold({ callId, key, amount, useful: 1n })
    if (hold instanceof Refusal || 'outcome' in hold) throw new Error('no hold')
    return hold
  }
  const charges = async (callId: string) =>
    (await store.ledger.transfersOf(callId)).map(({ kind, amount }) => [kind, amount])
  return { ...time, store, book, ledger, folder, open, charges }
}

test.each([true, false])(
  'answers that were there before their intents were committed end in time; the ledger heard it: %p',
  async (heard) => {
    const { store, book, ledger, folder, open, charges, pass, now } = await scene()
    // Its commit is in progress while the others arrive and are answered.
    ledger.slowMs = 100
    const first = await open('before')
    const rest = await Promise.all(['a', 'b', 'c'].map((callId) => open(callId)))
    const ends = new Map<string, { said: string; atMs: number }>()
    const settled = [first, ...rest].map((hold) =>
      hold.settle(700n, detail).then(
        () => ends.set(hold.callId, { said: 'answered', atMs: now() }),
        () => ends.set(hold.callId, { said: 'refused', atMs: now() }),
      ),
    )
    await pass(150)
    expect(await first.opened).toBe(true)
    Object.assign(ledger, { silent: true, heard })
    const silentMs = now()
    await until(async () => {
      await pass(50)
      return ends.size === settled.length || now() - silentMs > 60_000
    }, 1)
    expect([...ends.keys()].toSorted()).toEqual(['a', 'b', 'before', 'c'])
    // Long before the test gives up. The journal's disk is real and takes its time; these seconds do not wait for it.
    for (const { atMs } of ends.values()) expect(atMs - silentMs).toBeLessThan(30_000)
    expect(ends.get('before')?.said).toBe('answered')
    Object.assign(ledger, { silent: false, slowMs: 0 })
    await until(async () => {
      await pass(100)
      return book.health().queued === 0 && readdirSync(folder).length === 0
    }, 1)
    for (const [callId, { said }] of ends)
      expect([callId, await charges(callId)]).toEqual([callId, said === 'answered' ? [['usage', 700n]] : []])
    expect((await store.ledger.audit()).filter(({ ok }) => !ok)).toEqual([])
  },
)

test('an extension that comes while another waits for the ledger takes no more than it needs', async () => {
  const { store, book, ledger, open, pass } = await scene()
  const hold = await open('a')
  await until(async () => {
    await pass(50)
    return book.health().queued === 0
  })
  ledger.slowMs = 500
  const grown = [hold.extend(2_000n, 0n, false), hold.extend(3_000n, 0n, false)]
  await pass(1_500)
  expect(await Promise.all(grown)).toEqual(['extended', 'extended'])
  expect(hold.amount()).toBe(3_000n)
  ledger.slowMs = 0
  const ended = hold.settle(2_500n, detail)
  await pass(100)
  expect((await ended).charged).toBe(2_500n)
  const drained = book.drain(5_000)
  await pass(6_000)
  await drained
  expect((await store.wallets.wallet('w'))?.held).toBe(0n)
  expect((await store.ledger.audit()).filter(({ ok }) => !ok)).toEqual([])
})

test('a charge that neither the ledger nor the journal takes is in doubt in time, and is charged once later', async () => {
  const { book, ledger, folder, open, charges, pass, now } = await scene()
  const hold = await open('a')
  await until(async () => {
    await pass(50)
    return book.health().queued === 0
  }, 1)
  Object.assign(ledger, { silent: true, heard: false, beats: false })
  rmSync(folder, { recursive: true })
  const silentMs = now()
  let said = ''
  const ended = hold.settle(700n, detail).then(
    () => (said = 'answered'),
    () => (said = 'refused'),
  )
  await until(async () => {
    await pass(50)
    return said !== '' || now() - silentMs > 60_000
  }, 1)
  await ended
  expect(said).toBe('refused')
  expect(now() - silentMs).toBeLessThan(30_000)
  Object.assign(ledger, { silent: false, beats: true })
  await until(async () => {
    await pass(100)
    return book.health().queued === 0
  }, 1)
  expect(await charges('a')).toEqual([['usage', 700n]])
})

test('while it is known that the ledger is away, whoever comes is refused at once, and served when it is back', async () => {
  const { book, ledger, pass } = await scene()
  Object.assign(ledger, { beats: false, beatMs: 1_000 })
  await pass(4_000)
  let said: unknown
  void Promise.resolve(book.caller('h')).then((one) => {
    said = one
  })
  await pass(1)
  expect(said).toBeInstanceOf(Refusal)
  ledger.beats = true
  await until(async () => {
    await pass(50)
    return book.health().fresh
  }, 1)
  expect(await book.caller('h')).toMatchObject({ id: 'k' })
})
