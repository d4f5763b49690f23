/** The MCP server with the official clients: list, call, progress, a picture, errors; the same money as by HTTP. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { changeRules } from '../../src/control/money/rules.ts'
import { Refusal } from '../../src/core/refusal.ts'
import { readInputs } from '../../src/media/inputs.ts'
import { modelOf } from '../../src/media/models.ts'
import { localFetch } from '../../src/transport/local.ts'
import { mediaHere } from '../../src/transport/local-media/serve.ts'
import { local, localModels } from '../../src/vendors/local/local.ts'
import { byTest } from '../by-test.ts'
import { type AssetServer, startAssetServer } from '../server/asset-rig.ts'
import { jsonOf } from '../server/harness.ts'
import { until } from '../until.ts'
import { clients } from './mcp-clients.ts'

const records = mediaHere.models

let server: AssetServer
let listening: ReturnType<typeof Bun.serve>
beforeAll(async () => {
  server = await startAssetServer({
    server: {
      // Short, so that a job outlives its call.
      options: { runWaitMs: 1 },
      models: [...localModels, ...records.map((record) => modelOf('local', record))],
      more: [
        { vendor: { ...local, media: mediaHere }, baseUrl: local.baseUrl, secrets: [], fetch: localFetch },
      ],
    },
  })
  listening = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    idleTimeout: 0,
    fetch: (request) => server.fetch(request),
  })
})
afterAll(async () => {
  await listening.stop(true)
  await server.stop()
})

const urlOf = (query = '') => `http://127.0.0.1:${listening.port}/mcp${query}`
const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
const META = ['search_products', 'run_product', 'get_run', 'cancel_run']

describe.each(clients)('%s', (_name, version, open) => {
  test('lists the four tools and the featured products, without a key too', async () => {
    const client = await open(urlOf())
    expect(client.version()).toBe(version)
    const tools = await client.tools()
    expect(tools.slice(0, 4).map(({ name }) => name)).toEqual(META)
    const sketch = tools.find(({ name }) => name === 'local_sketch-1')
    expect(sketch?.description).toContain('USD / image')
    expect(sketch?._meta?.['turnpike/product']).toBe('local/sketch-1')
    expect(tools.map(({ name }) => name)).not.toContain('local_echo-1')
    await client.close()
  })

  test('lists what its address asks for', async () => {
    const names = async (query: string) => {
      const client = await open(urlOf(query))
      const tools = await client.tools()
      await client.close()
      return tools.slice(4).map(({ name }) => name)
    }
    expect(await names('?tools=local/echo-1,local/qr-1')).toEqual(['local_echo-1', 'local_qr-1'])
    expect(await names('?category=speech')).toEqual(['local_speech-1'])
    expect((await names('?all=1')).length).toBe(records.length)
    // A category of which nothing is sold is empty; one that does not exist is a slip of the pen.
    expect(await names('?category=music')).toEqual([])
    await expect(names('?category=speeches')).rejects.toThrow("'category' must be of chat, embeddings, image")
    await expect(names('?tools=local/none')).rejects.toThrow("'tools' names no product 'local/none'")
  })

  test('shows a key only what the rules of its wallet allow', async () => {
    const { token } = await server.newKey()
    const change = (blockedModels: string[] | null) =>
      changeRules(server.gateway, { walletId: server.wallet, change: { blockedModels }, by: byTest })
    const seen = async (headers: Record<string, string>) => {
      const client = await open(urlOf('?tools=local/echo-1,local/qr-1'), headers)
      const { structuredContent: found } = await client.call('search_products', { vendor: 'local', q: 'qr' })
      const tools = await client.tools()
      await client.close()
      return [tools.slice(4).map(({ name }) => name), found.total]
    }
    const all = await seen(bearer(token))
    await change(['local/qr-1'])
    const [tools, total] = await seen(bearer(token))
    expect([tools, all[0]]).toEqual([['local_echo-1'], ['local_echo-1', 'local_qr-1']])
    expect(Number(total)).toBe(Number(all[1]) - 1)
    await change(null)
  })

  test('calls a product: its answer, its links, its cost and receipt; charged once under a key for repeats', async () => {
    const { token } = await server.newKey()
    const client = await open(urlOf(), bearer(token))
    await client.tools()
    const before = await server.balance()
    const repeat = crypto.randomUUID()
    const again = () =>
      client.call(
        'local_sketch-1',
        { prompt: 'a hill', size: '64x64' },
        { meta: { 'turnpike/idempotency_key': repeat } },
      )
    const answer = await again()
    expect(answer.isError ?? false).toBe(false)
    const [link, inline] = answer.content
    expect([link?.type, link?.mimeType]).toEqual(['resource_link', 'image/png'])
    const picture = await server.fetchUrl(link?.uri ?? '')
    expect([picture.status, picture.headers.get('content-type')]).toEqual([200, 'image/png'])
    // An agent that cannot open the address has the picture itself.
    expect([inline?.type, inline?.mimeType]).toEqual(['image', 'image/png'])
    expect(Buffer.from(inline?.data ?? '', 'base64')).toEqual(Buffer.from(await picture.bytes()))
    expect(answer.structuredContent.outputs[0].url).toBe(link?.uri)
    expect(answer._meta?.['turnpike/cost_usd']).toBe('0.00001')
    const receipt = answer._meta?.['turnpike/receipt']
    const verdict = await jsonOf(await server.post('/api/receipts/verify', { receipt }, {}, token))
    expect(verdict.valid).toBe(true)
    expect((await again()).structuredContent).toEqual(answer.structuredContent)
    expect(before - (await server.balance())).toBe(10_000n)
    await client.close()
  })

  test('a sound is in the result, and what is too large has only its address', async () => {
    const { token } = await server.newKey()
    const client = await open(urlOf(), bearer(token))
    await client.tools()
    const said = await client.call('local_speech-1', { text: 'The sea rises twice a day.' })
    expect(said.content.map(({ type }) => type)).toEqual(['resource_link', 'audio'])
    const sound = await server.fetchUrl(said.content[0]?.uri ?? '')
    expect(Buffer.from(said.content[1]?.data ?? '', 'base64')).toEqual(Buffer.from(await sound.bytes()))
    const long = await client.call('local_speech-1', { text: 'The sea rises twice a day. '.repeat(40) })
    expect(long.content.map(({ type }) => type)).toEqual(['resource_link'])
    await client.close()
  })

  test('calls a chat model and one of embeddings by run_product', async () => {
    const { token } = await server.newKey()
    const client = await open(urlOf(), bearer(token))
    await client.tools()
    const said = await client.call('run_product', {
      product: 'local/echo-1',
      inputs: { messages: [{ role: 'user', content: 'Say hello.' }], max_tokens: 100 },
    })
    expect(said.content[0]?.text?.toLowerCase()).toContain('hello')
    const vector = await client.call('run_product', {
      product: 'local/hash-embed-1',
      inputs: { input: 'hi' },
    })
    expect(vector.structuredContent.data[0].embedding.length).toBeGreaterThan(3)
    await client.close()
  })

  test('finds a product, with its price and its inputs', async () => {
    const client = await open(urlOf())
    const list = await client.call('search_products', { category: 'image', q: 'sketch' })
    expect(list.structuredContent.products[0].id).toBe('local/sketch-1')
    const { product } = (await client.call('search_products', { id: 'local/sketch-1' })).structuredContent
    expect(product.input_schema.required).toContain('prompt')
    await client.close()
  })

  test('a job that outlives its call is asked for by its id, and cancelled', async () => {
    const { token } = await server.newKey()
    const client = await open(urlOf(), bearer(token))
    await client.tools()
    const begun = await client.call('local_slow-1', { prompt: 'a hill', seconds: 1 })
    expect([begun.isError ?? false, begun.structuredContent.status]).toEqual([false, 'running'])
    expect(begun.content[0]?.text).toContain('get_run')
    const { id } = begun.structuredContent
    expect(begun._meta?.['turnpike/run_id']).toBe(id)
    const statusOf = async (run: string) =>
      (await client.call('get_run', { id: run })).structuredContent.status
    await until(async () => (await statusOf(id)) === 'succeeded')
    expect((await client.call('get_run', { id })).content[0]?.type).toBe('resource_link')
    const other = await client.call('local_slow-1', { prompt: 'a hill', seconds: 500 })
    const before = await server.balance()
    await client.call('cancel_run', { id: other.structuredContent.id })
    await until(async () => (await statusOf(other.structuredContent.id)) === 'cancelled')
    expect(await server.balance()).toBe(before)
    const stranger = await open(urlOf(), bearer((await server.newKey()).token))
    expect((await stranger.call('get_run', { id })).structuredContent.error.code).toBe('not_found')
    await Promise.all([client.close(), stranger.close()])
  })

  test('tells progress', async () => {
    const { token } = await server.newKey()
    const client = await open(urlOf(), bearer(token))
    const seen: number[] = []
    const totals = new Set<number | undefined>()
    const onprogress = ({ progress, total }: { progress: number; total?: number }) => {
      seen.push(progress)
      totals.add(total)
    }
    await client.call('local_qr-1', { text: 'hi' }, { onprogress })
    // After so many seconds every call is answered.
    expect([...totals]).toEqual([server.gateway.options.timeouts.totalMs / 1_000])
    expect(seen[0]).toBe(0)
    expect(seen).toEqual([...seen].sort((a, b) => a - b))
    await client.close()
  })

  test('tells refusals as errors of the tool, and unknown tools as errors of the protocol', async () => {
    const { token } = await server.newKey({ rpm: 1_000 }, {})
    const client = await open(urlOf(), bearer(token))
    await client.tools()
    const codeOf = async (name: string, args: Record<string, unknown>, meta?: Record<string, unknown>) => {
      const answer = await client.call(name, args, meta === undefined ? {} : { meta })
      expect(answer.isError).toBe(true)
      expect(JSON.parse(answer.content[0]?.text ?? '')).toEqual(answer.structuredContent)
      return answer.structuredContent.error.code
    }
    const before = await server.balance()
    expect(await codeOf('local_qr-1', { text: 'hi', colour: 'red' })).toBe('invalid_parameter')
    expect(await codeOf('local_qr-1', { text: 'hi' }, { 'turnpike/max_cost_usd': '0.000001' })).toBe(
      'max_cost_exceeded',
    )
    expect(await codeOf('local_qr-1', { text: 'hi' }, { 'turnpike/sub_wallet': 'sub_none' })).toBe(
      'not_found',
    )
    expect(await codeOf('run_product', { product: 'nobody/nothing', inputs: {} })).toBe('model_not_found')
    // An argument that is left out silently may be the ceiling of the cost.
    const product = { product: 'local/qr-1', inputs: { text: 'hi' } }
    expect(await codeOf('run_product', { ...product, max_cost: '0.000001' })).toBe('invalid_parameter')
    expect(await codeOf('run_product', { ...product, max_cost_usd: 0.0000001 })).toBe('max_cost_exceeded')
    expect(await codeOf('search_products', { query: 'qr' })).toBe('invalid_parameter')
    expect(await codeOf('get_run', { id: 'none', run: 'x' })).toBe('invalid_parameter')
    expect(await codeOf('get_run', { id: 'none' })).toBe('not_found')
    expect(await codeOf('cancel_run', { id: 'none' })).toBe('not_found')
    expect(await codeOf('local_echo-1', { messages: [{ role: 'user', content: 'x' }], stream: true })).toBe(
      'invalid_parameter',
    )
    expect(await server.balance()).toBe(before)
    const wrong = await client.call('no_such_tool', {}).catch((error: Error) => error)
    expect(String(wrong)).toContain("There is no tool 'no_such_tool'")
    await client.close()
  })

  test('a key without money, over its rate or without a key at all is told so', async () => {
    const poor = await server.newKey({ spendCap: 1n } as never)
    const slow = await server.newKey({ rpm: 1 })
    const codes: unknown[] = []
    for (const headers of [bearer(poor.token), bearer(slow.token), {}]) {
      const client = await open(urlOf(), headers)
      // One a minute: the second is refused, or where the minute turned, a later one.
      await until(async () => {
        const { error } = (await client.call('local_qr-1', { text: 'hi' })).structuredContent
        if (error !== undefined) codes.push(error.code)
        return error !== undefined
      }, 0)
      await client.close()
    }
    expect(codes).toEqual(['insufficient_balance', 'rate_limit_exceeded', 'missing_authorization'])
  })

  test('a wrong key is refused before anything', async () => {
    const outcome = await open(urlOf(), bearer(`sk-${'x'.repeat(40)}`)).catch((error: Error) => error)
    expect(outcome).toBeInstanceOf(Error)
  })
})

const send = (body: string | object, headers: Record<string, string> = {}, base = 'http://turnpike.test') =>
  server.fetch(
    new Request(`${base}/mcp`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...headers,
      },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    }),
  )

test('a job that its caller gives up is cancelled where that is free, and goes on where it may come back for it', async () => {
  const patient = await startAssetServer({
    server: {
      options: { runWaitMs: 600_000 },
      models: [...localModels, ...records.map((record) => modelOf('local', record))],
      more: [
        { vendor: { ...local, media: mediaHere }, baseUrl: local.baseUrl, secrets: [], fetch: localFetch },
      ],
    },
  })
  const here = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    idleTimeout: 0,
    fetch: (request) => patient.fetch(request),
  })
  const [, , open] = clients[0] ?? []
  const { token } = await patient.newKey()
  const client = await open?.(`http://127.0.0.1:${here.port}/mcp`, bearer(token))
  await client?.tools()
  const before = await patient.balance()
  const jobs = patient.gateway.memory.jobs.open
  /** Begins a job, gives it up once it runs, and returns its id. */
  const givenUp = async (meta: Record<string, string>): Promise<string> => {
    const known = new Set(jobs.keys())
    const giving = new AbortController()
    const called = client?.call(
      'local_slow-1',
      { prompt: 'a hill', seconds: 500 },
      { meta, signal: giving.signal },
    )
    called?.catch(() => undefined)
    const begun = () => [...jobs.keys()].find((id) => !known.has(id))
    await until(() => begun() !== undefined)
    const id = begun() ?? ''
    giving.abort()
    expect(
      await called?.then(
        () => 'answered',
        () => 'given up',
      ),
    ).toBe('given up')
    return id
  }
  const stateOf = async (id: string) => (await patient.store.runs.run(id))?.state
  const kept = await givenUp({ 'turnpike/idempotency_key': crypto.randomUUID() })
  const free = await givenUp({})
  await until(async () => (await stateOf(free)) === 'cancelled')
  expect([await stateOf(kept), await patient.balance()]).toEqual(['running', before])
  await client?.close()
  await here.stop(true)
  await patient.stop()
})

test('pages of others may not ask; what is no message is an error of the protocol', async () => {
  const list = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} }
  expect((await send(list, { origin: 'https://evil.example' })).status).toBe(403)
  // Whoever owns a name can let it lead here; an address and localhost lead nowhere else.
  expect((await send(list, { origin: 'http://turnpike.test' })).status).toBe(403)
  for (const origin of ['http://127.0.0.1:8787', 'http://[::1]:8787', 'http://localhost:8787'])
    expect([origin, (await send(list, { origin }, origin)).status]).toEqual([origin, 200])
  Object.assign(server.gateway, { publicUrl: 'http://turnpike.test' })
  expect((await send(list, { origin: 'http://turnpike.test' })).status).toBe(200)
  Object.assign(server.gateway, { publicUrl: undefined })
  expect((await jsonOf(await send('{"a":'))).error.code).toBe(-32_700)
  expect((await jsonOf(await send([list]))).error.code).toBe(-32_600)
  expect((await send('x'.repeat(1_100_000))).status).toBe(413)
  expect((await server.fetch(new Request('http://turnpike.test/mcp'))).status).toBe(405)
})

test('each tool takes its example, and its name leads back to its product', async () => {
  const [, , open] = clients[0] ?? []
  const client = await open?.(urlOf('?all=1'))
  for (const tool of (await client?.tools())?.slice(4) ?? []) {
    const record = records.find(({ name }) => `local/${name}` === tool._meta?.['turnpike/product'])
    expect([tool.name, record === undefined]).toEqual([tool.name, false])
    if (record !== undefined) expect(readInputs(record, record.example) instanceof Refusal).toBe(false)
  }
  await client?.close()
})
