/**
 * When the pump sends what waits: it gives others some turns of the event loop to join, but no more than a batch needs.
 */
import { expect, test } from 'bun:test'
import { detailFor } from '../../test/store/world.ts'
import { silentLog } from '../core/log.ts'
import type { CommitBatch, CommitResult } from '../ledger/types.ts'
import { batchOf, OperationQueue, type SettleOperation } from './operation-queue.ts'
import { CommitPump, Outage, Writer } from './writer.ts'

const NO_EFFECT: CommitResult = {
  opened: new Set(),
  extended: new Set(),
  settled: new Map(),
  chargedBefore: new Map(),
  answeredElsewhere: new Set(),
}

/**
 * Commits `voids` that are all queued when the first turn ends; returns, for each batch, after how many turns it went
 * and its size.
 */
const sent = async (voids: number) => {
  const queue = new OperationQueue()
  const batches: { turns: number; size: number }[] = []
  let turns = 0
  const add = (id: number) =>
    queue.add({ kind: 'void', callId: `call ${id}`, queuedMs: 0, done: () => undefined })
  const clock = {
    now: () => 0,
    monotonicMs: () => 0,
    sleep: () => Promise.resolve(),
    turn: async () => {
      if (++turns === 1) for (let id = 1; id < voids; id++) add(id)
    },
  }
  const store = {
    commit: async (batch: CommitBatch) => {
      batches.push({ turns, size: batch.voids.length })
      return NO_EFFECT
    },
  }
  const parts = { store, clock, instance: 'one', log: silentLog, outbox: undefined, queue }
  const pump = new CommitPump({ ...parts, outage: new Outage(parts) })
  add(0)
  pump.start()
  await pump.idle()
  return batches
}

test('what is less than a batch waits four turns for more', async () => {
  expect(await sent(100)).toEqual([{ turns: 4, size: 100 }])
})

test('enough for a batch goes at once: turns are long when many wait, and each would make all of them later', async () => {
  expect(await sent(600)).toEqual([{ turns: 1, size: 600 }])
})

test('what is more than goes together goes right behind', async () => {
  expect(await sent(2_000)).toEqual([
    { turns: 1, size: 1_024 },
    { turns: 1, size: 976 },
  ])
})

test('long answers that are kept go one after the other, with the short ones beside the first', () => {
  const queue = new OperationQueue()
  const ends = { kept: () => undefined, dropped: () => undefined, inDoubt: () => undefined }
  const settleOf = (callId: string, letters: number): SettleOperation => {
    const ref = { keyId: 'k', endpoint: 'chat', key: callId }
    const answer =
      letters === 0
        ? {}
        : { answer: { ref, answer: { status: 200, headers: {}, body: 'x'.repeat(letters) } } }
    const settle = {
      callId,
      leaseId: 'l',
      payer: 'w',
      charge: 1n,
      excess: 0n,
      detail: detailFor('k'),
      ...answer,
    }
    return { kind: 'settle', settle, queuedMs: 0, ends: { ...ends, done: () => undefined }, safe: false }
  }
  for (const [callId, letters] of [
    ['a', 9_000_000],
    ['b', 10],
    ['c', 0],
    ['d', 5_000_000],
    ['e', 3_000_000],
    ['f', 1_000_000],
  ] as const)
    queue.add(settleOf(callId, letters))
  const batches: string[] = []
  while (!queue.isEmpty)
    batches.push(
      batchOf('i', queue.takeBatch(false))
        .settles.map(({ callId }) => callId)
        .join(''),
    )
  expect(batches).toEqual(['ac', 'bef', 'd'])
})

test('an intent is sent by itself, also beside a ledger of this process: an outage finds the call open', async () => {
  const opened: string[] = []
  const commit = async ({ intents }: CommitBatch): Promise<CommitResult> => {
    for (const { callId } of intents) opened.push(callId)
    return { ...NO_EFFECT, opened: new Set(opened) }
  }
  const [turn, queue] = [() => Promise.resolve(), new OperationQueue()]
  const clock = { now: () => 0, monotonicMs: () => 0, sleep: () => new Promise<void>(() => undefined), turn }
  const parts = { clock, queue, instance: 'one', log: silentLog, outbox: undefined, inTouch: () => true }
  const writer = new Writer({ ...parts, store: { commit }, local: true })
  await new Promise<void>((intentEnded) =>
    writer.intent({ callId: 'c', leaseId: 'l', hold: 1n }, { intentEnded: () => intentEnded() }),
  )
  expect([opened, queue.isEmpty]).toEqual([['c'], true])
})
