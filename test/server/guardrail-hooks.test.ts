/** Hooks of guardrails: what they are told, what they may do, and that none that fails lets a call pass. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { webhookSecret } from '../../src/gateway/jobs/signed-webhook.ts'
import type { HookRule } from '../../src/guardrails/rules.ts'
import { withRules } from './guard-rig.ts'
import { completion, startTestServer, type TestServer } from './harness.ts'

let server: TestServer
let told: { url: string; headers: Headers; body: string }[] = []
let address = '93.184.215.14'
let answer: (signal: AbortSignal) => Response | Promise<Response> = () => Response.json({ verdict: 'allow' })

beforeAll(async () => {
  server = await startTestServer({
    webhooks: {
      resolve: async () => [address],
      fetch: async (url, init) => {
        told.push({ url, headers: new Headers(init.headers), body: String(init.body) })
        return answer(init.signal as AbortSignal)
      },
    },
  })
})
afterAll(() => server.stop())
beforeEach(() => {
  told = []
  address = '93.184.215.14'
  server.answerWith(() => completion('the answer'))
})

const hook = (phase: 'pre' | 'post', more: Partial<HookRule> = {}): HookRule => ({
  hook: 'https://hooks.example.com/check',
  phase,
  deadline_ms: 100,
  fail: 'closed',
  ...more,
})
const ask = async (more: object = {}) => {
  const before = server.asked.length
  const response = await server.post('/v1/chat/completions', {
    model: 'mock/small',
    messages: [{ role: 'user', content: 'my question' }],
    ...more,
  })
  const body: any = await response.json()
  return { status: response.status, body, code: body.error?.code, asked: server.asked.length - before }
}

test('a hook is told the texts, signed as webhooks are, and lets them pass, changes or blocks them', async () => {
  await withRules(server, [hook('pre')])
  answer = () => Response.json({ verdict: 'allow' })
  expect(await ask()).toMatchObject({ status: 200, asked: 1 })
  const [{ headers, body } = { headers: new Headers(), body: '' }] = told
  expect(JSON.parse(body)).toMatchObject({ type: 'guardrail.pre', data: { texts: ['my question'] } })
  const key = Buffer.from(webhookSecret(server.gateway, server.wallet).slice(6), 'base64')
  const signed = `${headers.get('webhook-id')}.${headers.get('webhook-timestamp')}.${body}`
  expect(headers.get('webhook-signature')).toBe(
    `v1,${new Bun.CryptoHasher('sha256', key).update(signed).digest('base64')}`,
  )
  answer = () => Response.json({ verdict: 'replace', texts: ['another question'] })
  expect(await ask()).toMatchObject({ status: 200 })
  expect(server.asked.at(-1)?.text).toContain('another question')
  expect(server.asked.at(-1)?.text).not.toContain('my question')
  answer = () => Response.json({ verdict: 'block', reason: 'not that' })
  const blocked = await ask()
  expect(blocked).toMatchObject({ status: 400, code: 'guardrail_blocked', asked: 0 })
  expect(blocked.body.error.message).toContain('not that')
})

test('a hook sees answers before they go out; a blocked one costs what its vendor bills', async () => {
  await withRules(server, [hook('post')])
  answer = () => Response.json({ verdict: 'replace', texts: ['a better answer'] })
  const replaced = await ask()
  expect(replaced.body.choices[0].message.content).toBe('a better answer')
  expect(JSON.parse(told.at(-1)?.body ?? '').data.texts).toEqual(['the answer'])
  const before = await server.balance()
  answer = () => Response.json({ verdict: 'block' })
  expect(await ask()).toMatchObject({
    status: 400,
    code: 'guardrail_blocked',
    body: { error: { cost_usd: 0.00006 } },
  })
  expect(before - (await server.balance())).toBe(60_000n)
  expect(await ask({ stream: true })).toMatchObject({ status: 400, code: 'not_guarded', asked: 0 })
})

test('a hook changes each text for itself, and no mark of the protocol', async () => {
  await withRules(server, [hook('post')])
  const choice = (content: string, index: number) => ({
    index,
    message: { role: 'assistant', content },
    finish_reason: 'stop',
  })
  server.answerWith(() =>
    Response.json({
      ...{ id: 'chatcmpl-1', object: 'chat.completion', created: 1_795_000_000, model: 'small' },
      choices: ['stop', 'same', 'same'].map(choice),
      usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
    }),
  )
  answer = () => Response.json({ verdict: 'replace', texts: ['go on', 'first', 'second'] })
  const { choices } = (await ask({ n: 3 })).body
  expect(choices).toMatchObject(['go on', 'first', 'second'].map(choice))
})

const failing: Readonly<Record<string, typeof answer>> = {
  hangs: (signal) =>
    new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
  'never ends its answer': () =>
    new Response(new ReadableStream({ start: (to) => to.enqueue(Buffer.from('{')) })),
  dies: () => {
    throw new Error('connection refused')
  },
  'answers with an error': () => Response.json({ verdict: 'allow' }, { status: 500 }),
  'sends us elsewhere': () => new Response('', { status: 302, headers: { location: 'https://10.0.0.1/' } }),
  'says no JSON': () => new Response('allow'),
  'says something else': () => Response.json({ verdict: 'maybe' }),
  'says more than it may': () => Response.json({ verdict: 'allow', also: true }),
  'replaces another number of texts': () => Response.json({ verdict: 'replace', texts: ['a', 'b'] }),
  'replaces by no texts': () => Response.json({ verdict: 'replace', texts: [7] }),
  'answers without an end': () => new Response('x'.repeat(200_000)),
}

test.each(Object.keys(failing))(
  'a hook that %s refuses the call, unless its rule lets such calls pass',
  async (what) => {
    answer = failing[what] ?? answer
    await withRules(server, [hook('pre')])
    expect(await ask()).toMatchObject({ status: 503, code: 'guardrail_failed', asked: 0 })
    await withRules(server, [hook('pre', { fail: 'open' })])
    expect(await ask()).toMatchObject({ status: 200, asked: 1 })
    await withRules(server, [hook('post')])
    const post = await ask()
    expect(post).toMatchObject({ status: 503, code: 'guardrail_failed', asked: 1 })
    expect(JSON.stringify(post.body)).not.toContain('the answer')
  },
)

test('a hook whose name leads to a private address is not called', async () => {
  await withRules(server, [hook('pre')])
  answer = () => Response.json({ verdict: 'allow' })
  address = '10.0.0.1'
  expect(await ask()).toMatchObject({ status: 503, code: 'guardrail_failed', asked: 0 })
  expect(told).toEqual([])
})
