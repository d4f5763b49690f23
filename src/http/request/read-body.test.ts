/** Bodies: bounded in bytes and time, by what is declared and by what arrives; the capacity knows what was counted. */
import { expect, test } from 'bun:test'
import { Refusal } from '../../core/refusal.ts'
import { newCapacity } from '../../gateway/parts/capacity.ts'
import type { Gateway } from '../../gateway/parts/gateway.ts'
import { newTrace } from '../../gateway/parts/trace.ts'
import type { HttpCall } from '../route/route.ts'
import { readBody } from './read-body.ts'

const capacity = () =>
  newCapacity({
    openCallsMax: 1,
    socketsMax: 1,
    bufferBytesMax: 1_000,
    keySharePercent: 100,
    vendorSharePercent: 100,
  })

const read = async (
  body: ReadableStream | Uint8Array<ArrayBuffer> | string | null,
  headers: Record<string, string>,
  { bytesMax = 100, bodyMs = 60_000 } = {},
) => {
  const gateway = { capacity: capacity(), options: { bodyMs } } as Gateway
  const request = new Request('http://a.test/', { method: 'POST', body, headers })
  const trace = newTrace('c', 0)
  const call = { request, trace } as HttpCall
  const outcome = await readBody(gateway, call, bytesMax).then(
    (bytes) => new TextDecoder().decode(bytes),
    (thrown: unknown) => {
      if (!(thrown instanceof Refusal)) throw thrown
      return thrown
    },
  )
  return { outcome, taken: trace.taken.bytes }
}

const json = { 'content-type': 'application/json' }
const piecesOf = (...pieces: string[]): ReadableStream =>
  new ReadableStream({
    pull: (controller) => {
      const piece = pieces.shift()
      if (piece === undefined) controller.close()
      else controller.enqueue(new TextEncoder().encode(piece))
    },
  })

test('a body of declared length is counted by it', async () => {
  expect(await read('{"a":1}', { ...json, 'content-length': '7' })).toEqual({ outcome: '{"a":1}', taken: 7 })
})

test('one of unknown length is counted as it comes', async () => {
  expect(await read(piecesOf('{"a"', ':1}'), json)).toEqual({ outcome: '{"a":1}', taken: 7 })
})

test('a declared length beyond the limit is refused before anything is read or counted', async () => {
  const endless = new ReadableStream({ pull: () => new Promise(() => undefined) })
  const { outcome, taken } = await read(endless, { ...json, 'content-length': '101' })
  expect(outcome).toMatchObject({ code: 'request_too_large', status: 413 })
  expect(taken).toBe(0)
})

test('one that turns out longer is refused at the piece that is too much, and the sender told to stop', async () => {
  let canceled = false
  const body = new ReadableStream({
    pull: (controller) => controller.enqueue(new Uint8Array(60)),
    cancel: () => {
      canceled = true
    },
  })
  const { outcome, taken } = await read(body, json)
  expect(outcome).toMatchObject({ code: 'request_too_large', status: 413 })
  expect(taken).toBe(60)
  await Bun.sleep(0)
  expect(canceled).toBe(true)
})

test('a body that fits is refused where all bytes in hand are taken', async () => {
  const { outcome } = await read('x', { ...json, 'content-length': '1001' }, { bytesMax: 2_000 })
  expect(outcome).toMatchObject({ code: 'service_unavailable', status: 503 })
})

test('one that does not come in time ends the connection: its rest would be in the way', async () => {
  const { outcome } = await read(new ReadableStream({ pull: () => new Promise(() => undefined) }), json, {
    bodyMs: 10,
  })
  expect(outcome).toMatchObject({ code: 'request_timeout', status: 408, headers: { connection: 'close' } })
})

test.each<[string, Record<string, string>]>([
  ['no type', {}],
  ['another type', { 'content-type': 'text/plain' }],
  ['another type that begins alike', { 'content-type': 'application/json5' }],
  ['another charset', { 'content-type': 'application/json; charset=latin1' }],
  ['a compressed body', { ...json, 'content-encoding': 'gzip' }],
])('%s is a 415', async (_what, headers) => {
  expect((await read(new TextEncoder().encode('{}'), headers)).outcome).toMatchObject({
    code: 'unsupported_media_type',
    status: 415,
  })
})

test.each([
  'application/json',
  'Application/JSON',
  'application/json; charset=utf-8',
  'application/json;charset="UTF-8"',
])('%s is read', async (type) => {
  expect((await read('{}', { 'content-type': type })).outcome).toBe('{}')
})
