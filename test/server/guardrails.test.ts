/** Guardrails of accounts and keys, on whole calls: what vendors get, what callers get back, what is refused, and what is told. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { JsonObject } from '../../src/core/json-body.ts'
import { createLog } from '../../src/core/log.ts'
import { callerDialects } from '../../src/dialects/index.ts'
import type { Part } from '../../src/dialects/neutral.ts'
import type { GuardRule } from '../../src/guardrails/rules.ts'
import { listen } from '../../src/http/listen/listen.ts'
import { billed, context, type SharedDialectId, stepsOf, streamOf } from '../dialects/steps.ts'
import { until } from '../until.ts'
import { withRules } from './guard-rig.ts'
import { completion, startTestServer, streaming, type TestServer, testModel } from './harness.ts'
import { openResponses } from './responses-socket.ts'

const speaking: readonly SharedDialectId[] = ['chat', 'messages', 'gemini', 'responses', 'interactions']
const asking = [...speaking, 'completions', 'cohere', 'ollama'] as const
type Style = (typeof asking)[number]

const mask = (detect: string[], on: 'input' | 'output' | 'both' = 'input'): GuardRule => ({
  detect,
  action: 'mask',
  on,
})

const EMAIL = 'ann.o@example.com'
const CARD = '4111 1111 1111 1111'
const SAID = `Write "${EMAIL}"\nand ${CARD}, then ${EMAIL}.`

const tool = { type: 'object', properties: { to: { type: 'string' } } }

/** The same request in each style. */
const askAs = (
  model: string,
  stream: boolean,
  text: string,
): Readonly<Record<Style, readonly [string, object]>> => ({
  chat: [
    '/v1/chat/completions',
    {
      model,
      stream,
      messages: [{ role: 'user', content: text }],
      tools: [{ type: 'function', function: { name: 'send', parameters: tool } }],
    },
  ],
  messages: [
    '/v1/messages',
    {
      model,
      stream,
      max_tokens: 2_000,
      messages: [{ role: 'user', content: [{ type: 'text', text }] }],
      tools: [{ name: 'send', input_schema: tool }],
    },
  ],
  gemini: [
    `/v1beta/models/${model}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    {
      contents: [{ role: 'user', parts: [{ text }] }],
      tools: [{ functionDeclarations: [{ name: 'send', parameters: tool }] }],
    },
  ],
  responses: [
    '/v1/responses',
    {
      model,
      stream,
      store: false,
      input: text,
      tools: [{ type: 'function', name: 'send', parameters: tool }],
    },
  ],
  interactions: [
    '/v1beta/interactions',
    {
      model,
      stream,
      store: false,
      input: text,
      tools: [{ type: 'function', name: 'send', parameters: tool }],
    },
  ],
  completions: ['/v1/completions', { model, stream, max_tokens: 2_000, prompt: text }],
  cohere: [
    '/v2/chat',
    {
      model,
      stream,
      messages: [{ role: 'user', content: text }],
      tools: [{ type: 'function', function: { name: 'send', parameters: tool } }],
    },
  ],
  ollama: [
    '/api/chat',
    {
      model,
      stream,
      messages: [{ role: 'user', content: text }],
      tools: [{ type: 'function', function: { name: 'send', parameters: tool } }],
    },
  ],
})

const usage = { input: 10, output: 5 }

/** What a vendor of a dialect answers with these parts, whole and in events that are cut after so many letters. */
const answerOf = (speaks: SharedDialectId, parts: readonly Part[], size: number) => {
  const { writeReply, streamWriter } = callerDialects[speaks]
  const finish = parts.some(({ type }) => type === 'tool_call') ? ('tool_calls' as const) : ('stop' as const)
  const reply = { id: 'a1', model: 'small', choices: [{ parts, finish }] }
  const bytes = streamOf(stepsOf(reply, size), streamWriter(context(), false), { ...billed, usage })
  return {
    whole: writeReply({ ...reply, usage }, context()) as object,
    events: new TextDecoder().decode(bytes),
  }
}

const MEMBERS =
  /^(?:content|content_block|text|delta|message|choices|candidates|parts|arguments|args|partial_json|input|output|response|steps|step|item|function|functionCall|tool_calls|to|\d+)$/

/** All that an answer says, with pieces of texts joined. */
const saidIn = (text: string): string => {
  const words: string[] = []
  const walk = (value: unknown): void => {
    if (typeof value === 'string') words.push(value)
    else if (typeof value === 'object' && value !== null)
      for (const [name, one] of Object.entries(value)) if (MEMBERS.test(name)) walk(one)
  }
  for (const line of text.split('\n')) {
    const json = line.replace(/^data: ?/, '')
    if (json.startsWith('{') || json.startsWith('[')) {
      try {
        walk(JSON.parse(json))
      } catch {}
    }
  }
  return words.join('')
}

const logged: string[] = []
const servers: Partial<Record<SharedDialectId, TestServer>> = {}

beforeAll(async () => {
  for (const speaks of speaking)
    servers[speaks] = await startTestServer({
      vendor: speaks === 'chat' ? {} : { speaks },
      models: [testModel('small'), testModel('embed', { kind: 'embeddings', maxOutputTokens: 0 })],
      log: createLog('call', Date.now, (line) => logged.push(line)),
    })
})
afterAll(async () => {
  for (const server of Object.values(servers)) await server.stop()
})
const of = (speaks: SharedDialectId): TestServer => {
  const server = servers[speaks]
  if (server === undefined) throw new Error('no server')
  return server
}

test.each(speaking)(
  'what is masked never reaches a vendor of %s, and comes back in every style',
  async (speaks) => {
    const server = of(speaks)
    await withRules(server, [mask(['email', 'card'])])
    for (const style of asking)
      for (const stream of [false, true])
        for (const size of stream ? [1, 3, 7, 100] : [100]) {
          const [path, body] = askAs('mock/small', stream, SAID)[style]
          let answer: ReturnType<typeof answerOf> | undefined
          server.answerWith(({ text }) => {
            const mail = /\[EMAIL_\d+\]/.exec(text)?.[0] ?? 'none'
            const card = /\[CARD_\d+\]/.exec(text)?.[0] ?? 'none'
            const parts: Part[] = [{ type: 'text', text: `I wrote ${mail} and ${card}; [EMAIL_9] is none.` }]
            if (style !== 'completions')
              parts.push({ type: 'tool_call', id: 'call_1', name: 'send', arguments: `{"to":"${mail}"}` })
            answer = answerOf(speaks, parts, size)
            return stream ? streaming([answer.events]) : Response.json(answer.whole)
          })
          const response = await server.post(path, body)
          const text = await response.text()
          const where = [speaks, style, stream, size]
          expect([...where, response.status, text.slice(0, response.status === 200 ? 0 : 500)]).toEqual([
            ...where,
            200,
            '',
          ])
          const got = server.asked.at(-1)?.text ?? ''
          expect([...where, got.includes(EMAIL) || got.includes(CARD), got.includes('[EMAIL_1]')]).toEqual([
            ...where,
            false,
            true,
          ])
          const said = saidIn(text)
          expect([
            ...where,
            said.includes(`I wrote ${EMAIL} and ${CARD}; [EMAIL_9] is none.`) ? '' : said,
          ]).toEqual([...where, ''])
          if (style !== 'completions')
            expect([
              ...where,
              said.replaceAll('\\"', '"').includes(`"to":"${EMAIL}"`) || said.split(EMAIL).length > 2
                ? ''
                : text,
            ]).toEqual([...where, ''])
          expect(response.headers.get('x-guardrails')).toBe('input.email=mask:2, input.card=mask:1')
        }
    expect(logged.join('\n')).not.toContain(EMAIL)
    expect(logged.at(-1)).toContain('"input.email":"mask 2"')
    await withRules(server, null)
  },
)

const json = async (response: Response): Promise<any> => response.json()
const chat = (content: unknown, more: JsonObject = {}): JsonObject =>
  ({
    model: 'mock/small',
    messages: [{ role: 'user', content }],
    ...more,
  }) as JsonObject

test('a blocked request is refused by name before any vendor, costs nothing, and leaves its row', async () => {
  const server = of('chat')
  await withRules(server, [{ detect: ['secrets'], action: 'block', on: 'input' }])
  const before = [server.asked.length, await server.balance()]
  const response = await server.post('/v1/chat/completions', chat('use AKIAIOSFODNN7EXAMPLE'))
  expect(response.status).toBe(400)
  const { error } = await json(response)
  expect([error.code, error.rule, error.side]).toEqual(['guardrail_blocked', 'aws_key', 'input'])
  expect([server.asked.length, await server.balance(), server.openCalls()]).toEqual([...before, 0])
  await server.gateway.memory.failures.end()
  const [row] = (await json(await server.get('/v1/calls?limit=1'))).data
  expect(row).toMatchObject({ code: 'guardrail_blocked', guardrails: { 'input.aws_key': 'block 1' } })
  await withRules(server, null)
})

test.each([
  ['it has some of', ['some. ', 'more']],
  ['whose first word is held back', ['word']],
])('a caller who leaves a stream %s does not keep its call open', async (_which, words) => {
  const server = of('chat')
  await withRules(server, [{ detect: ['email'], action: 'mask', on: 'output' }])
  const { id, token } = await server.newKey()
  const events = words.map(
    (content) => `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\n\n`,
  )
  server.answerWith(() => streaming([events.join('')], 'hang'))
  const leaving = new AbortController()
  const left = server.fetch(
    new Request('http://turnpike.test/v1/chat/completions', {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      body: JSON.stringify(chat('hi', { stream: true })),
      signal: leaving.signal,
    }),
  )
  await until(() => server.gateway.capacity.streams === 1)
  leaving.abort()
  await left.catch(() => undefined)
  await until(() => server.gateway.capacity.streams === 0)
  await until(async () => (await server.store.keys.spend(id)).requests === 1)
  await withRules(server, null)
})

test('a blocked answer does not reach its caller, whole or streamed, and what it cost is told', async () => {
  const server = of('chat')
  await withRules(server, [{ detect: ['email'], action: 'block', on: 'output' }])
  server.answerWith(() => completion(`ask ${EMAIL} now`))
  const whole = await server.post('/v1/chat/completions', chat('hi'))
  const said = await whole.text()
  expect([whole.status, said.includes(EMAIL)]).toEqual([400, false])
  expect(JSON.parse(said).error).toMatchObject({
    code: 'guardrail_blocked',
    side: 'output',
    cost_usd: 0.00006,
  })
  for (const size of [1, 4, 100]) {
    server.answerWith(() =>
      streaming([answerOf('chat', [{ type: 'text', text: `first ask ${EMAIL}` }], size).events]),
    )
    const before = await server.balance()
    const streamed = await (await server.post('/v1/chat/completions', chat('hi', { stream: true }))).text()
    expect([streamed.includes('@'), streamed.includes('guardrail_blocked')]).toEqual([false, true])
    expect(before > (await server.balance())).toBe(true)
  }
  await withRules(server, null)
})

test.each(speaking)(
  'a stream of %s that is blocked or breaks off ends without what rules took out, in every style',
  async (speaks) => {
    const server = of(speaks)
    const told: unknown[][] = []
    for (const action of ['block', 'mask'] as const) {
      await withRules(server, [{ detect: ['email'], action, on: 'output' }])
      for (const style of asking) {
        const parts: Part[] = [
          { type: 'text', text: `first ask ${EMAIL}. ` },
          { type: 'tool_call', id: 'call_1', name: 'send', arguments: `{"to":"${EMAIL}"}` },
        ]
        const { events } = answerOf(speaks, parts.slice(0, style === 'completions' ? 1 : 2), 4)
        const pieces = events.split(/(?<=\n\r?\n)/).slice(0, speaks === 'gemini' ? -1 : -3)
        server.answerWith(() => streaming(pieces, 'break'))
        const [path, body] = askAs('mock/small', true, 'hi')[style]
        const text = await (await server.post(path, body)).text()
        const code = action === 'block' ? 'guardrail_blocked' : '[EMAIL]'
        told.push([style, action, text.includes('example.com') ? text : '', text.includes(code)])
      }
    }
    expect(told.filter(([, , leaked, known]) => leaked !== '' || known !== true)).toEqual([])
    await withRules(server, null)
  },
)

test('the receipt and the row of a charged call say what was found, and never what it was', async () => {
  const server = of('chat')
  await withRules(server, [mask(['email'])])
  server.answerWith(() => completion('to [EMAIL_1]'))
  const response = await server.post('/v1/chat/completions', chat(`to ${EMAIL}`))
  const body = await response.text()
  const receipt = response.headers.get('x-receipt') ?? ''
  const claims = Buffer.from(receipt.split('.')[1] ?? '', 'base64url').toString()
  expect(JSON.parse(claims).guardrails).toEqual({ 'input.email': 'mask 1' })
  expect(claims).not.toContain(EMAIL)
  // The receipt is about the bytes that its caller got, but for the balance.
  const bare = body.replace(/,"_balance_warning":.*(?=\}$)/, '')
  expect(JSON.parse(claims).body_hash.response).toBe(`sha256:${Bun.SHA256.hash(bare, 'hex')}`)
  const [row] = (await json(await server.get('/v1/calls?limit=1'))).data
  expect(row.guardrails).toEqual({ 'input.email': 'mask 1' })
  await withRules(server, null)
})

test('an answer is masked for good, and what is only noted passes', async () => {
  const server = of('chat')
  await withRules(server, [mask(['email'], 'output'), { detect: ['card'], action: 'log', on: 'output' }])
  server.answerWith(() =>
    streaming([answerOf('chat', [{ type: 'text', text: `${EMAIL} has ${CARD}` }], 5).events]),
  )
  const streamed = await (await server.post('/v1/chat/completions', chat('hi', { stream: true }))).text()
  expect(saidIn(streamed)).toContain(`[EMAIL] has ${CARD}`)
  expect(logged.at(-1)).toContain('"guardrails":{"output.email":"mask 1","output.card":"log 1"}')
  await withRules(server, null)
})

test('what is kept is what its caller got: stored, repeated, in the background; and later turns are masked anew', async () => {
  const server = of('chat')
  await withRules(server, [mask(['email'])])
  const sent: string[] = []
  const echo = ({ body }: { body: Record<string, unknown> }) => {
    sent.push(JSON.stringify(body))
    const stream = body.stream === true
    return stream
      ? streaming([answerOf('chat', [{ type: 'text', text: 'to [EMAIL_1] now' }], 5).events])
      : completion('to [EMAIL_1] now')
  }
  server.answerWith(echo)
  const ask = { model: 'mock/small', input: `write to ${EMAIL}` }
  for (const more of [{ store: true }, { store: true, stream: true }, { background: true }]) {
    const response = await server.post('/v1/responses', { ...ask, ...more })
    const id = /"id":"(resp_[^"]+)"/.exec(await response.text())?.[1] ?? ''
    const stored = async () => await (await server.get(`/v1/responses/${id}`)).text()
    await until(async () => (await stored()).includes('"completed"'))
    expect([more, (await stored()).includes(`to ${EMAIL} now`)]).toEqual([more, true])
    const next = { model: 'mock/small', input: 'again', previous_response_id: id }
    expect(await (await server.post('/v1/responses', next)).text()).toContain(`to ${EMAIL} now`)
  }
  const once = () => server.post('/v1/chat/completions', chat(`to ${EMAIL}`), { 'idempotency-key': 'kept' })
  const [first, again] = [await (await once()).text(), await (await once()).text()]
  expect([first.includes(`to ${EMAIL} now`), again]).toEqual([true, first])
  const streamed = () =>
    server.post('/v1/chat/completions', chat(`to ${EMAIL}`, { stream: true }), {
      'idempotency-key': 'stream',
    })
  const [live, repeated] = [await (await streamed()).text(), await (await streamed()).text()]
  expect([saidIn(live), saidIn(repeated)]).toEqual([`to ${EMAIL} now`, `to ${EMAIL} now`])
  expect(sent.filter((body) => body.includes(EMAIL))).toEqual([])
  await withRules(server, null)
})

test('what nobody can look into is refused by name', async () => {
  const server = of('chat')
  await withRules(server, [mask(['email'])])
  const refused = async (path: string, body: object, headers = {}) => {
    const response = await server.post(path, body, headers)
    return [response.status, (await json(response)).error?.code]
  }
  const asked = server.asked.length
  const not = [400, 'not_guarded']
  expect(await refused('/v1/embeddings', { model: 'mock/embed', input: [[1, 2, 3]] })).toEqual(not)
  const image = [{ type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } }]
  expect(await refused('/v1/chat/completions', chat(image))).toEqual([400, 'guardrail_blocked'])
  expect(server.asked.length).toBe(asked)
  await withRules(server, [mask(['email']), { images: 'pass' }])
  const passed = await server.post('/v1/chat/completions', chat(image))
  expect(await passed.text()).not.toContain('guardrail')
  await withRules(server, null)
})

test('the rules of a key bind it and the keys below it beside those of the account; a key does not change its own', async () => {
  const server = of('chat')
  const parent = await server.newKey(
    {},
    { guardrails: [{ detect: ['card'], action: 'block', on: 'input' }], canManage: true },
  )
  const child = await server.newKey({}, { parentId: parent.id })
  const codes = async (token: string) => {
    const response = await server.post('/v1/chat/completions', chat(CARD), {}, token)
    return [response.status, (await json(response)).error?.rule]
  }
  server.answerWith(() => completion('hello'))
  expect(await codes(parent.token)).toEqual([400, 'card'])
  expect(await codes(child.token)).toEqual([400, 'card'])
  await withRules(server, [mask(['card'])])
  expect(await codes(child.token)).toEqual([400, 'card'])
  await withRules(server, null)
  // Who made a key sets its rules.
  const set = { guardrails: [{ detect: 'card', action: 'mask', on: 'input' }] }
  const put = await server.send('PUT', `/v1/key/wholesale/${child.id}/limits`, set, parent.token)
  expect(put.status).toBe(200)
  const { guardrails } = (await server.store.keys.key(child.id)) ?? {}
  expect(guardrails).toEqual([{ detect: ['card'], action: 'mask', on: 'input' }])
  const own = await server.send('PUT', '/v1/key/wholesale/me/limits', { guardrails: null }, parent.token)
  expect([own.status, (await json(own)).error?.param ?? '']).toEqual([403, 'guardrails'])
})

test('rules are read with care: what is wrong is named', async () => {
  const server = of('chat')
  const put = async (guardrails: unknown) => {
    const response = await server.send('PUT', '/api/wallet/rules', { guardrails })
    const body = await json(response)
    return response.status === 200 ? body.guardrails : JSON.stringify(body)
  }
  expect(await put([{ pattern: '(a+)+', name: 'evil', action: 'block' }])).toContain('guardrails[0].pattern')
  expect(await put([{ detect: 'passport', action: 'block' }])).toContain('guardrails[0].detect')
  expect(await put([{ hook: 'https://10.0.0.1/', phase: 'pre' }])).toContain('guardrails[0].hook')
  expect(await put([{ detect: 'email', action: 'mask', also: 1 }])).toContain("has no 'also'")
  expect(await put([{ detect: 'email', action: 'mask' }])).toEqual([
    { detect: ['email'], action: 'mask', on: 'both' },
  ])
  expect(await put(null)).toBe(null)
})

test('turns on a socket are looked into, and what it remembers is masked anew', async () => {
  const server = of('chat')
  const listening = listen(server, { hostname: '127.0.0.1', port: 0, shared: false })
  const { token } = await server.newKey()
  const client = await openResponses({ base: `127.0.0.1:${listening.port}/v1`, token })
  const before = server.asked.length
  await withRules(server, [{ detect: ['email'], action: 'block', on: 'input' }])
  expect((await client.turn({ input: EMAIL })).error.code).toBe('guardrail_blocked')
  await withRules(server, [mask(['email'])])
  expect(server.asked.length).toBe(before)
  server.answerWith(() =>
    streaming([answerOf('chat', [{ type: 'text', text: 'to [EMAIL_1] now' }], 5).events]),
  )
  const turn = await client.turn({ input: EMAIL })
  expect(JSON.stringify(turn)).toContain(`to ${EMAIL} now`)
  const next = await client.turn({ input: 'again', previous_response_id: turn.response.id })
  expect(JSON.stringify(next)).toContain(`to ${EMAIL} now`)
  expect(JSON.stringify(server.asked.slice(before))).not.toContain(EMAIL)
  expect(server.asked.length).toBe(before + 2)
  client.socket.close()
  listening.stop()
  await withRules(server, null)
})
