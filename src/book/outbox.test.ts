/** The outbox on a real disk: what it keeps, what it takes over from others, and what a torn write costs. */
import { afterAll, expect, test } from 'bun:test'
import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { until } from '../../test/until.ts'
import { silentLog } from '../core/log.ts'
import type { CallSettle } from '../ledger/types.ts'
import { createOutbox } from './outbox.ts'
import { openOutboxFolder } from './outbox-folder.ts'
import { lineOf, settlesIn } from './outbox-record.ts'

const home = mkdtempSync(join(tmpdir(), 'turnpike-outbox-'))
afterAll(() => rmSync(home, { recursive: true }))

let serial = 0
const freshPath = () => join(home, `${++serial}`)

const outboxOf = async (path: string, instance: string, ledger = 'ledger') =>
  createOutbox({ folder: await openOutboxFolder(path), ledger, instance, log: silentLog })

const settle = (callId: string): CallSettle => ({
  callId,
  leaseId: 'l',
  payer: 'w',
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
  const dead = await outboxOf(path, 'a')
  await dead.keep([settle('1'), settle('2')])
  await dead.keep([settle('3')])
  const [left, ...more] = await (await outboxOf(path, 'b')).left()
  expect(more).toEqual([])
  expect(left?.settles).toEqual([settle('1'), settle('2'), settle('3')])
  expect(readdirSync(path)).toHaveLength(1)
  await left?.remove()
  expect(readdirSync(path)).toEqual([])
})

test('a file goes when all of it is in the ledger, and only the owner may read it', async () => {
  const path = freshPath()
  const outbox = await outboxOf(path, 'a')
  await outbox.keep([settle('1')])
  await outbox.keep([settle('2')])
  const [name = ''] = readdirSync(path)
  expect(statSync(join(path, name)).mode & 0o777).toBe(0o600)
  expect(statSync(path).mode & 0o777).toBe(0o700)
  outbox.inLedger('2')
  await outbox.keep([settle('3')])
  expect(texts(path)).toEqual([['1', '2', '3'].map((id) => lineOf(settle(id))).join('')])
  outbox.inLedger('1')
  outbox.inLedger('3')
  await until(() => readdirSync(path).length === 0, 5)
  // The next outage has a file of its own.
  await outbox.keep([settle('4')])
  expect(texts(path)).toEqual([lineOf(settle('4'))])
})

test('every prefix of a file reads as the records that are whole in it', () => {
  const bytes = new TextEncoder().encode(lineOf(settle('1')) + lineOf(settle('2')))
  const first = new TextEncoder().encode(lineOf(settle('1'))).length
  for (let length = 0; length <= bytes.length; length++) {
    const { settles, torn } = settlesIn(new TextDecoder().decode(bytes.slice(0, length)))
    // A record that lacks only its final line end is still whole.
    const whole = Number(length >= first - 1) + Number(length >= bytes.length - 1)
    expect([length, settles.map(({ callId }) => callId)]).toEqual([length, ['1', '2'].slice(0, whole)])
    expect(torn).toBe(
      Number(length > 0 && ![first - 1, first, bytes.length - 1, bytes.length].includes(length)),
    )
  }
})

test('a line of an earlier version is read, and earlier versions can read ours', () => {
  const written =
    'd0eaf191 {"callId":"c","leaseId":"l","walletId":"credit:w","charge":{"$amount":"9007199254740993"},"excess":{"$amount":"0"},"detail":{"keyId":"k","model":"m","vendor":"v","usage":{"input":3},"estimated":false,"priceVersion":"p","startedAt":1,"tookMs":2,"firstByteMs":1,"ended":"ok"}}\n'
  const { answer: _, detail, ...rest } = settle('c')
  const { receipt: __, ...kept } = detail
  expect(settlesIn(written)).toEqual({ settles: [{ ...rest, payer: 'credit:w', detail: kept }], torn: 0 })
  expect(JSON.parse(lineOf(settle('c')).slice(9))).toMatchObject({ walletId: 'w' })
})

test('a changed byte is found, and the records around it are used', () => {
  const lines = ['1', '2', '3'].map((id) => lineOf(settle(id)))
  const text = lines.join('').replace('"callId":"2"', '"callId":"9"')
  const { settles, torn } = settlesIn(text)
  expect([settles.map(({ callId }) => callId), torn]).toEqual([['1', '3'], 1])
})

test('a file taken over while its process lives is not written on: what was too late goes to a new one', async () => {
  const path = freshPath()
  const living = await outboxOf(path, 'a')
  await living.keep([settle('1')])
  const [taken] = await (await outboxOf(path, 'b')).left()
  expect(taken?.settles.map(({ callId }) => callId)).toEqual(['1'])
  await living.keep([settle('2')])
  await taken?.remove()
  expect(texts(path)).toEqual([lineOf(settle('2'))])
})

test('the settlements of another database, and files that are no outboxes, are left alone', async () => {
  const path = freshPath()
  await (await outboxOf(path, 'a', 'other')).keep([settle('1')])
  writeFileSync(join(path, 'README'), 'mine')
  const before = readdirSync(path)
  expect(await (await outboxOf(path, 'b')).left()).toEqual([])
  expect(readdirSync(path)).toEqual(before)
})

test('an empty or torn file left behind is no error', async () => {
  const path = freshPath()
  const dead = await outboxOf(path, 'a')
  await dead.keep([settle('1')])
  const [name = ''] = readdirSync(path)
  appendFileSync(join(path, name), lineOf(settle('2')).slice(0, 40))
  writeFileSync(join(path, 'ledger.a.99'), '')
  const left = await (await outboxOf(path, 'b')).left()
  expect(left.flatMap(({ settles }) => settles.map(({ callId }) => callId))).toEqual(['1'])
})

test('when the disk is full the reserve makes room, and what was written of a line before is torn', async () => {
  const path = freshPath()
  const hasReserve = () => existsSync(join(path, 'reserve'))
  const write = async (file: number, text: string) => {
    appendFileSync(file, hasReserve() ? text.slice(0, 30) : text)
    if (hasReserve()) throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' })
  }
  const folder = await openOutboxFolder(path, 1_000, write)
  expect(statSync(join(path, 'reserve')).size).toBe(1_000)
  const outbox = createOutbox({ folder, ledger: 'ledger', instance: 'a', log: silentLog })
  await outbox.keep([settle('1'), settle('2')])
  expect(hasReserve()).toBe(false)
  const [name = ''] = readdirSync(path)
  const { settles, torn } = settlesIn(readFileSync(join(path, name), 'utf8'))
  expect([settles.map(({ callId }) => callId), torn]).toEqual([['1', '2'], 1])
  // Its space is taken back once the settlements are in the ledger.
  outbox.inLedger('1')
  outbox.inLedger('2')
  await until(() => hasReserve() && readdirSync(path).length === 1, 5)
})

test('when the disk has no room for a new file either, the reserve makes it', async () => {
  const path = freshPath()
  let full = false
  const make = async (file: string, flags: string, mode: number) => {
    if (full && existsSync(join(path, 'reserve')))
      throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' })
    return openSync(file, flags, mode)
  }
  const folder = await openOutboxFolder(path, 1_000, undefined, make)
  full = true
  const outbox = createOutbox({ folder, ledger: 'ledger', instance: 'a', log: silentLog })
  await outbox.keep([settle('1')])
  expect([outbox.waiting(), readdirSync(path).length]).toEqual([1, 1])
  outbox.inLedger('1')
  await until(() => existsSync(join(path, 'reserve')) && readdirSync(path).length === 1, 5)
})

test('a folder that cannot be made is reported at once', async () => {
  const path = freshPath()
  writeFileSync(path, 'a file')
  await expect(openOutboxFolder(join(path, 'outbox'))).rejects.toThrow()
})
