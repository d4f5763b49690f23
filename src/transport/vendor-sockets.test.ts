/** The sockets that are kept: one answer at a time on each, and no more than may be open. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { VendorSockets } from './vendor-sockets.ts'

let server: ReturnType<typeof Bun.serve>
const heard: string[] = []
beforeAll(() => {
  server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: (request, serving) =>
      serving.upgrade(request, { data: undefined }) ? undefined : new Response('no', { status: 400 }),
    websocket: {
      message: (socket, text) => {
        heard.push(String(text))
        socket.send(`{\n"type": "response.completed", "response": {"id": "resp_1", "note": "${text}"}\n}`)
      },
    },
  })
})
afterAll(() => server.stop(true))

const placeOf = (owner: object, name: string) => ({
  owner,
  name,
  url: `http://127.0.0.1:${server.port}/v1/responses`,
  headers: {},
  endsMs: 1_000,
})
const turn = (message: string) => ({
  message,
  signal: new AbortController().signal,
  previous: undefined,
  completed: () => undefined,
})

test('a socket takes one turn at a time, a place has one socket, and a rest takes none', async () => {
  const sockets = new VendorSockets()
  const [mine, other] = [{}, {}]
  const bounds = { most: 2, nowMs: 0 }
  const socket = sockets.take(placeOf(mine, 'a'), bounds)
  const answer = socket?.ask(turn('one'))
  expect(sockets.take(placeOf(mine, 'a'), bounds)).toBeUndefined()
  // An event may be written over several lines.
  expect(await (await answer)?.text()).toBe(
    'data: { "type": "response.completed", "response": {"id": "resp_1", "note": "one"} }\n\n',
  )
  expect(sockets.take(placeOf(mine, 'a'), bounds)).toBe(socket as never)
  const second = sockets.take(placeOf(other, 'a'), bounds)
  expect([second === socket, sockets.size]).toEqual([false, 2])
  await (await second?.ask(turn('two')))?.text()
  expect(heard).toEqual(['one', 'two'])
  const renewed = sockets.take(placeOf(mine, 'a'), { most: 2, nowMs: 1_000 })
  expect([renewed === socket, sockets.size]).toEqual([false, 2])
  sockets.leave(mine)
  expect(sockets.size).toBe(1)
  sockets.rest(placeOf(other, 'a').url, 1_000)
  expect(sockets.take(placeOf(other, 'a'), { most: 2, nowMs: 60_999 })).toBeUndefined()
  sockets.leave(other)
  expect(sockets.size).toBe(0)
})

test('a caller that goes while it opens ends it', async () => {
  const sockets = new VendorSockets()
  const gone = new AbortController()
  const answer = sockets
    .take(placeOf({}, 'a'), { most: 1, nowMs: 0 })
    ?.ask({ ...turn('never'), signal: gone.signal })
  gone.abort()
  expect(answer).rejects.toThrow('nobody waits for the answer')
  expect(sockets.size).toBe(0)
})
