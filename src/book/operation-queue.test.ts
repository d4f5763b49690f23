/** Which operations go out together: those of one call stay in order, and a call that ended is opened again later. */
import { expect, test } from 'bun:test'
import { emptyDetail } from '../../test/simulation/law.ts'
import { type Operation, OperationQueue } from './operation-queue.ts'

const ends = {
  intentEnded: () => undefined,
  kept: () => undefined,
  dropped: () => undefined,
  inDoubt: () => undefined,
  done: () => undefined,
}
const at = { queuedMs: 0, ends }

/** An operation by its words: `intent a`. */
const operationOf = (words: string): Operation => {
  const [kind = '', callId = ''] = words.split(' ')
  const call = { callId, leaseId: 'l' }
  switch (kind) {
    case 'intent':
      return { ...at, kind, intent: { ...call, hold: 1n } }
    case 'progress':
      return { ...at, kind, progress: { callId, hold: 1n, spent: 1n }, done: () => undefined }
    case 'void':
      return { ...at, kind, callId, done: () => undefined }
    default:
      return {
        ...at,
        kind: 'settle',
        safe: false,
        settle: { ...call, payer: 'w', charge: 1n, excess: 0n, detail: emptyDetail },
      }
  }
}

/** The batches, one after the other, of operations that wait together. */
const batchesOf = (words: readonly string[], chargeLater: boolean): readonly (readonly string[])[] => {
  const queue = new OperationQueue()
  const named = new Map(words.map((one) => [operationOf(one), one]))
  for (const operation of named.keys()) queue.add(operation)
  const batches: string[][] = []
  while (!queue.isEmpty)
    batches.push(queue.takeBatch(chargeLater).map((operation) => named.get(operation) ?? ''))
  return batches
}

test('a call that ended is opened, and settled, again in a later commit', () => {
  expect(batchesOf(['intent a', 'settle a', 'intent a', 'intent b'], false)).toEqual([
    ['intent a', 'settle a', 'intent b'],
    ['intent a'],
  ])
  expect(batchesOf(['void a', 'settle a', 'progress a'], false)).toEqual([
    ['void a'],
    ['settle a', 'progress a'],
  ])
})

test('with an outbox no commit opens and charges the same call', () => {
  expect(batchesOf(['intent a', 'settle a', 'intent a', 'intent b'], true)).toEqual([
    ['intent a', 'intent b'],
    ['settle a'],
    ['intent a'],
  ])
  expect(batchesOf(['intent a', 'void a', 'settle b'], true)).toEqual([['intent a', 'void a', 'settle b']])
})
