/** Hanging up before anything came: what the vendor bills by then is charged, and what it never got is not. */
import { afterEach, expect, test } from 'bun:test'
import type { CancelPolicy } from '../../src/vendors/vendor.ts'
import {
  chat,
  completion,
  startTestServer,
  streamEvents,
  streaming,
  type TestServer,
  testModel,
  type VendorRequest,
} from '../server/harness.ts'
import { brokenLaws } from '../store/engines.ts'

let server: TestServer
afterEach(async () => {
  expect(await brokenLaws(server.store)).toEqual([])
  expect(await server.heldAfterAll()).toBe(0n)
  await server.stop()
})

const start = async (cancel: CancelPolicy, change: object = {}) => {
  server = await startTestServer({
    models: [testModel('small', change)],
    vendor: { cancel },
    options: { timeouts: { firstByteMs: 60_000, idleMs: 60_000, totalMs: 60_000 } },
  })
}

/** Sends the call, hangs up as soon as the vendor has it, and returns the charge when all is over. */
const hangUp = async (stream: boolean, answer: (request: VendorRequest) => Promise<Response>) => {
  const gone = new AbortController()
  const body = JSON.stringify(chat({ stream }))
  const settled = Promise.withResolvers<void>()
  server.answerWith((asked) => {
    queueMicrotask(() => gone.abort())
    return answer(asked).finally(() => settled.resolve())
  })
  const before = await server.balance()
  const { token } = await server.newKey()
  const request = new Request('http://turnpike.test/v1/chat/completions', {
    method: 'POST',
    signal: gone.signal,
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    body,
  })
  const response = await server.fetch(request)
  await response.body?.cancel().catch(() => undefined)
  await settled.promise
  while (server.openCalls() > 0) await Bun.sleep(1)
  const input = BigInt(Math.ceil(body.length / 4)) * 1_000n
  return { status: response.status, charged: before - (await server.balance()), input }
}

/** An answer that never comes; it reports that it was stopped. */
const never = ({ signal }: VendorRequest): Promise<Response> =>
  new Promise((_, reject) => signal?.addEventListener('abort', () => reject(new Error('stopped'))))

/** An answer that is ready only after its caller has gone. */
const later = async (answer: Response): Promise<Response> => {
  await Bun.sleep(5)
  return answer
}

for (const stream of [false, true]) {
  const what = stream ? 'a stream' : 'a whole answer'
  test(`${what} that nobody waits for is stopped, and its input charged`, async () => {
    await start('stop')
    const { status, charged, input } = await hangUp(stream, never)
    expect([status, charged, server.asked.length]).toEqual([499, input, 1])
  })

  test.each([
    ['bills to the end anyway', 'drain', {}],
    ['thinks out of sight', 'stop', { capabilities: ['streaming', 'reasoning'] }],
  ] as const)(`${what} of a vendor that %s is read to its usage`, async (_why, cancel, change) => {
    await start(cancel, change)
    const answer = () => (stream ? streaming(streamEvents(['all ', 'of it'])) : completion('all of it'))
    const { charged } = await hangUp(stream, () => later(answer()))
    expect([charged, server.asked.length]).toEqual([60_000n, 1])
  })

  test(`${what} that is refused after its caller has gone is free`, async () => {
    await start('drain')
    const { status, charged } = await hangUp(stream, () => later(new Response('{}', { status: 500 })))
    expect([status, charged, server.asked.length]).toEqual([499, 0n, 1])
  })

  test(`${what} whose vendor is never reached is free`, async () => {
    await start('drain')
    const unreached = () => Promise.reject(Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }))
    const { status, charged } = await hangUp(stream, unreached)
    expect([status, charged]).toEqual([499, 0n])
  })

  test(`${what} that dies while it is read on is charged its input`, async () => {
    await start('drain')
    const { status, charged, input } = await hangUp(stream, () => later(streaming(['{"id"'], 'break')))
    expect([status, charged]).toEqual([499, input])
  })
}
