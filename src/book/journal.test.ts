/** The journal on a real disk: what it keeps, what it takes over from others, what a torn write costs. */
import { afterAll, expect, test } from 'bun:test'
import {
  appendFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { silentLog } from '../core/log.ts'
import type { Settle } from '../ledger/words.ts'
import { createJournal } from './journal.ts'
import { openJournalFolder } from './journal-folder.ts'
import { lineOf, settlesIn } from './journal-record.ts'

const home = mkdtempSync(join(tmpdir(), 'turnpike-journal-'))
afterAll(() => rmSync(home, { recursive: true }))

let serial = 0
const freshPath = () => join(home, `${++serial}`)

const journalOf = async (path: string, instance: string, ledger = 'ledger') =>
  createJournal({ folder: await openJournalFolder(path), ledger, instance, log: silentLog })

const settle = (callId: string): Settle => ({
  callId,
  leaseId: 'l',
  walletId: 'w',
  charge: 9_007_199_254_740_993n,
  excess: 0n,
  detail: {
    keyId: 'k',
    model: 'm',
    vendor: 'v',
    usage: { input: 3 },
    estimated: false,
    priceVersion: 'p',
    startedAt: 1,
    tookMs: 2,
    firstByteMs: 1,
    ended: 'ok',
    receipt: {
      prices: { input: 1_000_000 },
      authorized: 9_007_199_254_740_995n,
      payment: { mode: 'credits' },
      requestHash: 'q',
      responseHash: 'r',
    },
  },
  answer: {
    ref: { keyId: 'k', endpoint: 'e', key: 'i' },
    answer: { status: 200, headers: { a: 'b' }, body: 'two\nlines, Ünicode, \ud800 half a pair' },
  },
})

const texts = (path: string) => readdirSync(path).map((name) => readFileSync(join(path, name), 'utf8'))

test('what was kept by one process is found whole by the next, and its file goes when it is in the ledger', async () => {
  const path = freshPath()
  const dead = await journalOf(path, 'a')
  await dead.keep([settle('1'), settle('2')])
  await dead.keep([settle('3')])
  const [left, ...more] = await (await journalOf(path, 'b')).left()
  expect(more).toEqual([])
  expect(left?.settles).toEqual([settle('1'), settle('2'), settle('3')])
  expect(readdirSync(path)).toHaveLength(1)
  await left?.remove()
  expect(readdirSync(path)).toEqual([])
})

test('a file goes when all of it is in the ledger, and only the owner may read it', async () => {
  const path = freshPath()
  const journal = await journalOf(path, 'a')
  await journal.keep([settle('1')])
  await journal.keep([settle('2')])
  const [name = ''] = readdirSync(path)
  expect(statSync(join(path, name)).mode & 0o777).toBe(0o600)
  expect(statSync(path).mode & 0o777).toBe(0o700)
  journal.inLedger('2')
  await journal.keep([settle('3')])
  expect(texts(path)).toEqual([['1', '2', '3'].map((id) => lineOf(settle(id))).join('')])
  journal.inLedger('1')
  journal.inLedger('3')
  for (let tries = 0; tries < 400 && readdirSync(path).length > 0; tries++) await Bun.sleep(5)
  expect(readdirSync(path)).toEqual([])
  // The next outage has a file of its own.
  await journal.keep([settle('4')])
  expect(texts(path)).toEqual([lineOf(settle('4'))])
})

test('every prefix of a file reads as the records that are whole in it', () => {
  const bytes = new TextEncoder().encode(lineOf(settle('1')) + lineOf(settle('2')))
  const first = new TextEncoder().encode(lineOf(settle('1'))).length
  for (let length = 0; length <= bytes.length; length++) {
    const { settles, torn } = settlesIn(new TextDecoder().decode(bytes.slice(0, length)))
    // Without its last byte, the end of the line, a record is whole.
    const whole = Number(length >= first - 1) + Number(length >= bytes.length - 1)
    expect([length, settles.map(({ callId }) => callId)]).toEqual([length, ['1', '2'].slice(0, whole)])
    expect(torn).toBe(
      Number(length > 0 && ![first - 1, first, bytes.length - 1, bytes.length].includes(length)),
    )
  }
})

test('a changed byte is found, and the records around it are used', () => {
  const lines = ['1', '2', '3'].map((id) => lineOf(settle(id)))
  const text = lines.join('').replace('"callId":"2"', '"callId":"9"')
  const { settles, torn } = settlesIn(text)
  expect([settles.map(({ callId }) => callId), torn]).toEqual([['1', '3'], 1])
})

test('a file taken over while its process lives is not written on: what was too late goes to a new one', async () => {
  const path = freshPath()
  const living = await journalOf(path, 'a')
  await living.keep([settle('1')])
  const [taken] = await (await journalOf(path, 'b')).left()
  expect(taken?.settles.map(({ callId }) => callId)).toEqual(['1'])
  await living.keep([settle('2')])
  await taken?.remove()
  expect(texts(path)).toEqual([lineOf(settle('2'))])
})

test('the settlements of another database, and files that are no journals, are left alone', async () => {
  const path = freshPath()
  await (await journalOf(path, 'a', 'other')).keep([settle('1')])
  writeFileSync(join(path, 'README'), 'mine')
  const before = readdirSync(path)
  expect(await (await journalOf(path, 'b')).left()).toEqual([])
  expect(readdirSync(path)).toEqual(before)
})

test('an empty or torn file left behind is no error', async () => {
  const path = freshPath()
  const dead = await journalOf(path, 'a')
  await dead.keep([settle('1')])
  const [name = ''] = readdirSync(path)
  appendFileSync(join(path, name), lineOf(settle('2')).slice(0, 40))
  writeFileSync(join(path, 'ledger.a.99'), '')
  const left = await (await journalOf(path, 'b')).left()
  expect(left.flatMap(({ settles }) => settles.map(({ callId }) => callId))).toEqual(['1'])
})

test('a folder that cannot be made is told at once', async () => {
  const path = freshPath()
  writeFileSync(path, 'a file')
  await expect(openJournalFolder(join(path, 'journal'))).rejects.toThrow()
})
