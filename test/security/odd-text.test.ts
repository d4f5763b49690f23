/**
 * Text that a database cannot keep, or that means something in an address or a header, is refused or kept; it is never
 * a fault of ours.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { must } from '../../src/core/refusal.ts'
import { socketHandlers } from '../../src/http/listen/socket.ts'
import { newSocketData, type Socket } from '../../src/http/listen/socket-frames.ts'
import { streamProtocol } from '../../src/http/listen/stream-messages.ts'
import { termsOfUpgrade } from '../../src/http/request/socket-terms.ts'
import {
  chat,
  completion,
  startTestServer,
  streamEvents,
  streaming,
  type TestServer,
} from '../server/harness.ts'
import { engines } from '../store/engines.ts'

/** A socket whose upgrade said nothing. */
const noTerms = must(termsOfUpgrade(new Headers()))

const odd = [
  '\0',
  '\ud800',
  'a\0b',
  '\r\nx-evil: 1',
  '../../x',
  '%00',
  '\u2028',
  '\uffff',
  '__proto__',
  "';--",
]

for (const kind of engines.filter(({ name }) => name !== 'SQLite in a file'))
  describe(`odd text, ${kind.name}`, () => {
    let database: Awaited<ReturnType<typeof kind.fresh>>
    let server: TestServer
    let token: string
    beforeAll(async () => {
      database = await kind.fresh()
      server = await startTestServer({ url: database.url })
      server.answerWith(({ body }) =>
        body.stream === true ? streaming(streamEvents(['x'])) : completion('x'),
      )
      token = (await server.newKey()).token
    })
    afterAll(async () => {
      await server.stop()
      await database.stop()
    })

    const cases: readonly (readonly [string, (text: string) => readonly [string, string, object]])[] = [
      ['a label', (label) => ['POST', '/api/wallet/sub-wallets', { budget_usd: 1, label }]],
      ['a referral code', (text) => ['POST', '/api/referrals', { code: text.padEnd(10, text).slice(0, 10) }]],
      ['a skill', (skill) => ['POST', '/api/reviews', { skill, rating: 5 }]],
      ['a comment', (comment) => ['POST', '/api/reviews', { skill: 'a', rating: 5, comment }]],
      ['a receipt', (receipt) => ['POST', '/api/receipts/verify', { receipt }]],
      [
        'an address',
        (url) => ['PUT', '/api/wallet/rules', { alert_webhook_url: `https://a.example/${url}` }],
      ],
      ['a model', (model) => ['POST', '/v1/chat/completions', chat({ model })]],
      ['a user', (user) => ['POST', '/v1/chat/completions', chat({ user })]],
      ['a member', (name) => ['POST', '/v1/chat/completions', chat({ [name]: name })]],
      ['a query', (text) => ['GET', `/v1/usage?from=${encodeURIComponent(text.toWellFormed())}`, {}]],
      ['a group', (text) => ['GET', `/v1/usage?group_by=${encodeURIComponent(text.toWellFormed())}`, {}]],
    ]
    test.each(cases)('%s', async (_what, ask) => {
      for (const text of odd) {
        const [method, path, body] = ask(text)
        const response = await server.send(method, path, method === 'GET' ? undefined : body, token)
        await response.text()
        expect([text, response.status >= 500]).toEqual([text, false])
      }
    })

    test('what a socket names', async () => {
      const handlers = socketHandlers(server)
      for (const text of odd)
        for (const more of [
          { sub_wallet: text },
          { idempotency_key: text },
          { max_cost_usd: text },
          { id: text },
        ]) {
          const frames: string[] = []
          const data = newSocketData(server.gateway, {
            protocol: streamProtocol,
            authorization: `Bearer ${token}`,
            from: { request: { headers: new Headers() }, peer: () => undefined },
            terms: noTerms,
            keyId: 'k',
          })
          const socket = socketOf(data, frames)
          handlers.message(socket, JSON.stringify({ ...chat(), ...more }))
          while (data.running.size > 0 || frames.length === 0) await Bun.sleep(1)
          expect([text, more, /internal_error|service_unavailable/.test(frames.join())]).toEqual([
            text,
            more,
            false,
          ])
        }
    })
  })

const socketOf = (data: Socket['data'], frames: string[]): Socket => ({
  data,
  send: (frame) => frames.push(frame),
  getBufferedAmount: () => 0,
  cork: (send) => send(),
  close: () => undefined,
})

test('a socket takes no more calls than the server does', async () => {
  const server = await startTestServer({ options: { openCallsMax: 0 } })
  try {
    const frames: string[] = []
    const { token } = await server.newKey()
    const data = newSocketData(server.gateway, {
      protocol: streamProtocol,
      authorization: `Bearer ${token}`,
      from: { request: { headers: new Headers() }, peer: () => undefined },
      terms: noTerms,
      keyId: 'k',
    })
    const socket = socketOf(data, frames)
    socketHandlers(server).message(socket, JSON.stringify(chat()))
    while (data.running.size > 0 || frames.length === 0) await Bun.sleep(1)
    expect(frames.join()).toContain('service_unavailable')
    expect(server.asked.length).toBe(0)
  } finally {
    await server.stop()
  }
})
