/** Deadlines of an exchange, also with a vendor whose body does not follow the signal. */
import { expect, test } from 'bun:test'
import { exchange, VendorFault } from './exchange.ts'

const silentAfter = (pieces: readonly string[]) => {
  const left = [...pieces]
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => {
      const piece = left.shift()
      if (piece === undefined) return new Promise(() => undefined)
      controller.enqueue(new TextEncoder().encode(piece))
      return undefined
    },
  })
  return exchange({
    fetch: async () => new Response(body),
    url: 'http://vendor.invalid',
    headers: {},
    body: new Uint8Array(),
    timeouts: { firstByteMs: 30, idleMs: 30, totalMs: 1_000 },
  })
}

const stageOf = async (work: Promise<unknown>): Promise<string> => {
  const fault = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  return fault instanceof VendorFault ? fault.stage : 'none'
}

test('silence before the first piece and between pieces is a fault, not an end', async () => {
  expect(await stageOf((await silentAfter([])).next())).toBe('first byte')
  const begun = await silentAfter(['a'])
  expect(new TextDecoder().decode(await begun.next())).toBe('a')
  expect(await stageOf(begun.next())).toBe('body')
})

test('an answer that stays incomplete is a fault', async () => {
  expect(await stageOf((await silentAfter(['{"half":'])).all())).toBe('first byte')
})
