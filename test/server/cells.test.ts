/**
 * Three cells, each a process with a ledger of its own, behind the router: official clients, sockets and hostile requests
 * get to the cell that their key names, and a cell that is lost is only its own callers' trouble.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { freePort } from '../free-port.ts'
import { beginProgram, endPrograms, runProgram, startProgram } from '../program.ts'
import { until } from '../until.ts'

const home = mkdtempSync(join(tmpdir(), 'turnpike-cells-'))
const directory = join(home, 'cells.yaml')
const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }
const gone = Promise.withResolvers<void>()
let vendor: ReturnType<typeof Bun.serve>
let router = ''
type Cell = {
  readonly name: string
  readonly folder: string
  readonly settings: Record<string, string>
  readonly program: Awaited<ReturnType<typeof startProgram>>
}
/** The first cell has no name of its own; the third one does not know where the others are. */
const cells: Cell[] = []
const [FIRST, SECOND, THIRD] = [0, 1, 2]
const keyOf = (cell: number): string => cells[cell]?.program.token ?? ''
const addressOf = (cell: number): string => cells[cell]?.program.address ?? ''

async function* streamed(text: string, stays: boolean) {
  const event = (choices: object[], more: object = {}) =>
    `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices, ...more })}\n\n`
  try {
    for (const word of [text, ' and', ' more']) {
      yield event([{ index: 0, delta: { content: word }, finish_reason: null }])
      if (stays) await new Promise(() => undefined)
    }
    yield event([{ index: 0, delta: {}, finish_reason: 'stop' }])
    yield `${event([], { usage })}data: [DONE]\n\n`
  } finally {
    if (stays) gone.resolve()
  }
}

beforeAll(async () => {
  vendor = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    fetch: async (request) => {
      const { stream, messages } = (await request.json()) as any
      const text = typeof messages[0].content === 'string' ? messages[0].content : messages[0].content[0].text
      if (text === 'stay') request.signal.addEventListener('abort', () => gone.resolve())
      if (stream === true)
        return new Response(streamed(text, text === 'stay') as never, {
          headers: { 'content-type': 'text/event-stream' },
        })
      const message = { role: 'assistant', content: text }
      const choices = [{ index: 0, message, finish_reason: 'stop' }]
      return Response.json({ id: 'c', object: 'chat.completion', created: 1, model: 'm', choices, usage })
    },
  })
  const config = `vendors:\n  mock:\n    base_url: http://127.0.0.1:${vendor.port}/v1\n    models:\n      m: { input_usd_per_1m: "1", output_usd_per_1m: "10", context_tokens: 100000, max_output_tokens: 4000 }\n`
  const ports = [await freePort(), await freePort(), await freePort()]
  writeFileSync(
    directory,
    `first: c1\ncells:\n${ports.map((port, at) => `  c${at + 1}: { addresses: ['http://127.0.0.1:${port}'], console: 'http://c${at + 1}.test' }\n`).join('')}`,
  )
  const named: Record<string, string>[] = [{}, { CELL: 'c2', CELLS: directory }, { CELL: 'c3' }]
  for (const [at, own] of named.entries()) {
    const folder = mkdtempSync(join(home, `c${at + 1}-`))
    writeFileSync(join(folder, 'turnpike.yaml'), config)
    const settings = { PORT: String(ports[at]), PLAN_RPM: '100000', LOG: 'error', ...own }
    cells.push({ name: `c${at + 1}`, folder, settings, program: await startProgram(folder, settings) })
  }
  const { stdout } = beginProgram(home, { CELLS: directory, LOG: 'off' }, 'route')
  for await (const piece of stdout as ReadableStream<Uint8Array>) {
    router = /routes at (\S+)/.exec(new TextDecoder().decode(piece))?.[1] ?? ''
    if (router !== '') break
  }
})
afterAll(async () => {
  await endPrograms()
  await vendor.stop(true)
  rmSync(home, { recursive: true })
})

const ask = (key: string, base = router, more: Record<string, string> = {}) =>
  fetch(`${base}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...more },
    body: JSON.stringify({ model: 'mock/m', messages: [{ role: 'user', content: 'hello' }] }),
  })
const errorOf = async (answer: Response): Promise<any> => ((await answer.json()) as any).error

test('keys carry the name of their cell, all but those of a cell without one', () => {
  expect(keyOf(FIRST)).toMatch(/^sk-[A-Za-z0-9]{43}$/)
  expect(keyOf(SECOND)).toMatch(/^sk-c2-[A-Za-z0-9]{43}$/)
})

test('official clients are answered by the cell of their key, whole and streamed', async () => {
  for (const cell of [FIRST, SECOND, THIRD]) {
    const openai = new OpenAI({ apiKey: keyOf(cell), baseURL: `${router}/v1`, maxRetries: 0 })
    const messages = [{ role: 'user' as const, content: `cell ${cell}` }]
    const whole = await openai.chat.completions.create({ model: 'mock/m', messages })
    expect(whole.choices[0]?.message.content).toBe(`cell ${cell}`)
    let text = ''
    for await (const part of await openai.chat.completions.create({
      model: 'mock/m',
      messages,
      stream: true,
    }))
      text += part.choices[0]?.delta.content ?? ''
    expect(text).toBe(`cell ${cell} and more`)
    const anthropic = new Anthropic({ apiKey: keyOf(cell), baseURL: router, maxRetries: 0 })
    const message = await anthropic.messages
      .stream({ model: 'mock/m', max_tokens: 100, messages })
      .finalMessage()
    expect(message.content).toMatchObject([{ type: 'text', text: `cell ${cell} and more` }])
    const gemini = await fetch(`${router}/v1beta/models/mock/m:generateContent?key=${keyOf(cell)}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ contents: [{ role: 'user', parts: [{ text: 'hi' }] }] }),
    })
    expect(gemini.status).toBe(200)
  }
  for (const { folder, settings } of cells) {
    const { out } = await runProgram(folder, settings, 'usage', '--json')
    expect(out).toContain('"requests":4,')
    expect((await runProgram(folder, settings, 'audit')).code).toBe(0)
  }
})

test('a socket speaks with the cell of its key, however that comes, and a refused one is told why', async () => {
  const turn = (url: string, init: object) =>
    new Promise<string>((resolve, reject) => {
      const socket = new WebSocket(url.replace('http', 'ws'), init as never)
      const body = { model: 'mock/m', input: 'over a socket' }
      socket.onopen = () => socket.send(JSON.stringify({ type: 'response.create', ...body }))
      socket.onmessage = ({ data }) => {
        if (!String(data).includes('"type":"response.completed"')) return
        socket.close(1000, 'done')
        resolve(String(data))
      }
      socket.onclose = ({ code, reason }) => reject(new Error(`${code} ${reason}`))
    })
  const headers = { authorization: `Bearer ${keyOf(SECOND)}` }
  expect(await turn(`${router}/v1/responses`, { headers })).toContain('over a socket and more')
  const protocols = ['turnpike', `turnpike.key.${keyOf(THIRD)}`]
  expect(await turn(`${router}/v1/responses`, { protocols })).toContain('over a socket and more')
  await expect(turn(`${router}/v1/responses`, { headers: { authorization: 'Bearer x' } })).rejects.toThrow()
  const refused = await raw(
    `GET /v1/responses HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${keyOf(SECOND).slice(0, -1)}_\r\n` +
      'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n' +
      'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
  )
  expect(refused).toContain('HTTP/1.1 401')
  expect(refused).toContain('invalid_api_key')
})

test('a caller that hangs up is known to the vendor', async () => {
  const leaving = new AbortController()
  const answer = await fetch(`${router}/v1/chat/completions`, {
    method: 'POST',
    signal: leaving.signal,
    headers: { authorization: `Bearer ${keyOf(SECOND)}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'mock/m', stream: true, messages: [{ role: 'user', content: 'stay' }] }),
  })
  await answer.body?.getReader().read()
  leaving.abort()
  await gone.promise
})

/** What a server answers to these bytes, until it ends the connection or is silent. */
const raw = (text: string): Promise<string> =>
  new Promise((resolve) => {
    let got = ''
    const { hostname, port } = new URL(router)
    const socket = connect(Number(port), hostname, () => socket.write(text))
    socket.on('data', (piece) => {
      got += piece.toString('latin1')
      if (/\r\n\r\n.*[}]|\r\n\r\n$/s.test(got)) socket.destroy()
    })
    socket.on('error', () => undefined)
    socket.on('close', () => resolve(got))
  })

test('a request with two minds about its key or its length goes nowhere', async () => {
  const [first, second, third] = [keyOf(FIRST), keyOf(SECOND), keyOf(THIRD)]
  const post = (...headers: string[]) =>
    raw(
      `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\n${headers.join('\r\n')}\r\n\r\n2\r\n{}\r\n0\r\n\r\n`,
    )
  const auth = (key: string) => `Authorization: Bearer ${key}`
  for (const wrong of [
    [auth(second), auth(third), 'Content-Length: 2'],
    [auth(second), auth(second), 'Content-Length: 2'],
    [auth(second), `x-api-key: ${third}`, 'Content-Length: 2'],
    [auth(second), 'Content-Length: 2', 'Transfer-Encoding: chunked'],
    [auth(second), 'Content-Length: 2', 'Content-Length: 3'],
    [auth(second), 'Transfer-Encoding: xchunked'],
  ])
    expect([wrong, (await post(...wrong)).slice(0, 12)]).toEqual([wrong, 'HTTP/1.1 400'])
  // The name of a cell is part of the key: with another one it is a key that nobody knows.
  const forged = await ask(second.replace('sk-c2-', 'sk-c3-'))
  expect([forged.status, (await errorOf(forged)).code]).toEqual([401, 'invalid_api_key'])
  expect((await ask(first.replace('sk-', 'sk-c2-'))).status).toBe(401)
  const unknown = await ask(second.replace('sk-c2-', 'sk-c9-'))
  expect([unknown.status, (await errorOf(unknown)).message]).toEqual([
    401,
    "The API key names the cell 'c9', and there is no such cell here.",
  ])
  // A caller cannot say that a cell has passed its request on, nor that it is for another cell.
  const claimed = await ask(third, router, { 'x-turnpike-passed-by': 'c2', 'x-turnpike-cell': 'c2' })
  expect(claimed.status).toBe(200)
})

test('a gateway refuses the key of another cell by its name alone, or passes the request on', async () => {
  expect((await ask(keyOf(THIRD), addressOf(SECOND))).status).toBe(200)
  const refused = await ask(keyOf(SECOND), addressOf(THIRD))
  expect(refused.status).toBe(421)
  expect(refused.headers.get('x-turnpike-cell')).toBe('c2')
  expect(await errorOf(refused)).toMatchObject({ code: 'wrong_cell', cell: 'c2' })
  // What was passed on once is looked up, and goes no further.
  const twice = await ask(keyOf(THIRD), addressOf(SECOND), { 'x-turnpike-passed-by': 'c1' })
  expect(twice.status).toBe(401)
})

test('without a key the host decides, and what is of all cells is gathered', async () => {
  const kids = async (address: string, host = 'x') => {
    const answer = await fetch(`${address}/.well-known/jwks.json`, { headers: { host } })
    return ((await answer.json()) as any).keys.map(({ kid }: { kid: string }) => kid)
  }
  const each = await Promise.all(cells.map((_, cell) => kids(addressOf(cell))))
  expect(new Set(each.flat()).size).toBe(3)
  expect(await kids(router)).toEqual(each.flat())
  const claim = () => fetch(`${router}/api/try/anonymous-wallet`, { method: 'POST' })
  const [granted, again] = [await claim(), await claim()]
  expect(granted.status).toBe(201)
  expect(again.status).toBe(429)
  const { api_key: trial } = (await granted.json()) as { api_key: string }
  expect((await ask(trial)).status).toBe(200)
  expect((await fetch(`${router}/readyz`)).status).toBe(200)
})

test('the console of a cell knows the others, and asks none that has another secret', async () => {
  const host = 'c2.test'
  const ask = (method: string, path: string, body?: object, cookie = '') =>
    fetch(`${router}/console/api${path}`, {
      method,
      headers: { host, origin: `http://${host}`, cookie, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
  const token = new URL(cells[SECOND]?.program.link ?? '').hash.slice(1)
  const entered = await ask('POST', '/session/link', { token })
  expect(entered.status).toBe(200)
  const cookie = entered.headers.getSetCookie()[0]?.split(';')[0]
  const session: any = await (await ask('GET', '/session', undefined, cookie)).json()
  expect(session.cell).toBe('c2')
  const elsewhere: any = await (await ask('GET', '/session/elsewhere', undefined, cookie)).json()
  expect(elsewhere.cells).toEqual([
    { name: 'c1', away: true, organisations: [] },
    { name: 'c3', away: true, organisations: [] },
  ])
})

test('a cell that is killed is named at once, others do not feel it, and it comes back', async () => {
  cells[THIRD]?.program.child.kill('SIGKILL')
  await cells[THIRD]?.program.child.exited
  const lost = await ask(keyOf(THIRD))
  expect([lost.status, lost.headers.get('retry-after')]).toEqual([503, '2'])
  expect(await errorOf(lost)).toMatchObject({ code: 'cell_unavailable', cell: 'c3', retry_after: 2 })
  expect((await ask(keyOf(FIRST))).status).toBe(200)
  expect((await ask(keyOf(SECOND))).status).toBe(200)
  const passed = await ask(keyOf(THIRD), addressOf(SECOND))
  expect([passed.status, (await errorOf(passed)).code]).toEqual([503, 'cell_unavailable'])
  const { folder, settings } = cells[THIRD] as Cell
  await startProgram(folder, settings)
  await until(async () => (await ask(keyOf(THIRD))).status === 200)
})
