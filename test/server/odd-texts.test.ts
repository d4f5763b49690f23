/** Texts that PostgreSQL cannot store name nothing there: whoever sends one is told so, and not that the server failed. */
import { expect, test } from 'bun:test'
import { serverEngines, stopSound } from '../store/engines.ts'
import { jsonOf, startTestServer } from './harness.ts'

for (const engine of serverEngines)
  test(`what no ledger can store is found nowhere, by any way in, on ${engine.name}`, async () => {
    const database = await engine.fresh()
    const server = await startTestServer({ url: database.url })
    const { token } = await server.newKey({}, { canManage: true })
    const alert = { name: 'x', kind: 'key', subject: 'a\u0000', steps: [5], channels: [] }
    const statuses = [
      await server.get('/v1/usage?model=a%00b', token),
      await server.get('/v1/usage?key=a%00b', token),
      await server.get('/v1/budgets?after=a%00b', token),
      await server.get('/v1/alert-deliveries?before=a%00b', token),
      await server.send('POST', '/v1/alerts', alert, token),
      await server.send('POST', '/v1/alerts', { ...alert, subject: '\ud800' }, token),
    ].map(({ status }) => status)
    expect(statuses).toEqual([200, 404, 200, 200, 404, 404])
    const toolSays = async (name: string, args: object, meta: object = {}) => {
      const params = { name, arguments: args, _meta: meta }
      const answer = await server.post(
        '/mcp',
        { jsonrpc: '2.0', id: 1, method: 'tools/call', params },
        { accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2025-06-18' },
      )
      const said = (await answer.text()).split('\n').find((line) => line.startsWith('data: ')) ?? ''
      return (await jsonOf(new Response(said.slice('data: '.length)))).result.structuredContent.error?.code
    }
    // Some agents send null for what they leave out.
    expect(await toolSays('get_run', { id: 'a\u0000b', token: null })).toBe('not_found')
    expect(await toolSays('cancel_run', { id: 'a\u0000b' })).toBe('not_found')
    const run = { product: 'mock/small', inputs: { messages: [{ role: 'user', content: 'hi' }] } }
    expect(await toolSays('run_product', run, { 'turnpike/sub_wallet': 'a\u0000b' })).toBe('not_found')
    expect(await toolSays('run_product', run)).toBeUndefined()
    await stopSound(server, database)
  })
