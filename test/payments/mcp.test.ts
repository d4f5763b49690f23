/**
 * x402 over MCP with the official clients: both bindings name what is due, it is paid in `_meta` and settled on the
 * chain.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { registerExactEvmScheme } from '@x402/evm/exact/client'
import { x402Client } from '@x402/fetch'
import { McpClient } from 'mppx/mcp/client'
import { clients } from '../products/mcp-clients.ts'
import { hasChain, startChain, type TestChain } from './chain.ts'
import { startFacilitator, type TestFacilitator } from './facilitator.ts'
import { evmOf } from './mpp-payer.ts'
import { optionsFor, type Rig, startRig } from './rig.ts'

const inputs = { messages: [{ role: 'user', content: 'hi' }], max_tokens: 50 }
const args = { product: 'mock/small', inputs }

describe.skipIf(!hasChain)('x402 over MCP', () => {
  let chain: TestChain
  let facilitator: TestFacilitator
  let rig: Rig
  let listening: ReturnType<typeof Bun.serve>
  let url: string
  beforeAll(async () => {
    chain = await startChain()
    facilitator = await startFacilitator(chain)
    rig = await startRig(chain, optionsFor(facilitator, chain))
    await rig.server.x402?.round()
    listening = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      idleTimeout: 0,
      fetch: (request) => rig.server.fetch(request),
    })
    url = `http://127.0.0.1:${listening.port}/mcp`
  })
  afterAll(async () => {
    await rig.check()
    await listening.stop(true)
    await rig.server.stop()
    await facilitator.stop()
    await chain.stop()
  })

  const signed = async (due: unknown): Promise<Record<string, unknown>> => {
    const signer = await chain.newPayer(1_000_000n)
    const payer = registerExactEvmScheme(new x402Client(), { signer, networks: ['eip155:84532'] })
    return (await payer.createPaymentPayload(due as never)) as never
  }

  test.each(clients)('%s: due as an error of the tool, then paid', async (_name, _version, open) => {
    const client = await open(url)
    const due = await client.call('run_product', args)
    expect(due.isError).toBe(true)
    expect(due.structuredContent).toMatchObject({
      x402Version: 2,
      resource: { url: 'mcp://tool/run_product' },
      accepts: [{ scheme: 'exact', network: 'eip155:84532' }],
    })
    expect(JSON.parse(due.content[0]?.text ?? '')).toEqual(due.structuredContent)
    const before = await rig.received()
    const payment = await signed(due.structuredContent)
    const paid = await client.call('run_product', args, { meta: { 'x402/payment': payment } })
    expect([paid.isError ?? false, paid.content]).toEqual([false, [{ type: 'text', text: 'hello' }]])
    expect(paid._meta?.['x402/payment-response']).toMatchObject({ success: true, network: 'eip155:84532' })
    expect(paid._meta?.['turnpike/cost_usd']).toBe('0.00006')
    expect(await rig.received()).toBeGreaterThan(before)
    // One payment buys one answer: the same call gets that answer again, another call nothing.
    const again = await client.call('run_product', args, { meta: { 'x402/payment': payment } })
    expect(again.structuredContent).toEqual(paid.structuredContent)
    const other = await client.call(
      'run_product',
      { ...args, inputs: { ...inputs, max_tokens: 51 } },
      { meta: { 'x402/payment': payment } },
    )
    expect([other.isError, other.structuredContent.error]).toEqual([true, 'payment_already_used'])
    expect(other.content).toHaveLength(1)
    await client.close()
  })

  test('the client of MPP pays a tool and reads its receipt', async () => {
    const client = new Client({ name: 'payer', version: '1' }, { versionNegotiation: { mode: 'auto' } })
    await client.connect(new StreamableHTTPClientTransport(new URL(url)))
    const paying = McpClient.wrap(
      client as never,
      {
        methods: [evmOf(await chain.newPayer(1_000_000n))],
      } as never,
    ) as unknown as {
      callTool(it: object): Promise<{ content: unknown; receipt?: Record<string, string> }>
    }
    const before = await rig.received()
    const paid = await paying.callTool({ name: 'run_product', arguments: args })
    expect(paid.content).toEqual([{ type: 'text', text: 'hello' }])
    expect(paid.receipt).toMatchObject({ status: 'success', method: 'evm', challengeId: expect.any(String) })
    expect(await rig.received()).toBeGreaterThan(before)
    await client.close()
  })

  test.each(clients)('%s: a credential that is none is told as a problem', async (_name, _version, open) => {
    const client = await open(url)
    const asked = rig.server.asked.length
    let deep: object = {}
    for (let depth = 0; depth < 5_000; depth++) deep = { deep }
    for (const credential of [
      {},
      'x',
      { challenge: { id: 'a', request: deep }, payload: {} },
      { challenge: { id: 'a' }, payload: {} },
    ]) {
      const due = await client.call('run_product', args, {
        meta: { 'org.paymentauth/credential': credential },
      })
      expect(due.isError).toBe(true)
      const required = due._meta?.['org.paymentauth/payment-required'] as Record<
        string,
        Record<string, string>
      >
      expect(required.problem?.type).toBe('https://paymentauth.org/problems/malformed-credential')
      expect(required.challenges).toMatchObject([
        {
          method: 'evm',
          intent: 'charge',
          realm: '127.0.0.1',
          request: { methodDetails: { chainId: 84532 } },
        },
      ])
    }
    expect(rig.server.asked.length).toBe(asked)
    await client.close()
  })

  test('a client that says it knows payments is told them as a kind of result', async () => {
    const answers: string[] = []
    const spying = async (input: string | URL | Request, init?: RequestInit) => {
      const response = await fetch(input, init)
      answers.push(await response.clone().text())
      return response
    }
    const client = new Client(
      { name: 'payer', version: '1' },
      { versionNegotiation: { mode: 'auto' }, capabilities: { extensions: { 'org.x402/payment': {} } } },
    )
    await client.connect(new StreamableHTTPClientTransport(new URL(url), { fetch: spying as typeof fetch }))
    expect(client.getServerCapabilities()).toMatchObject({
      extensions: { 'org.x402/payment': {} },
      experimental: { payment: { methods: { evm: { intents: ['charge'] } } } },
    })
    const outcome = await client
      .callTool({ name: 'run_product', arguments: args })
      .catch((error: Error) => error)
    expect(String(outcome)).toContain("'payment_required'")
    const { result } = JSON.parse(answers.at(-1) ?? '')
    expect(result).toMatchObject({ resultType: 'payment_required', paymentRequired: { x402Version: 2 } })
    const payment = await signed(result.paymentRequired)
    const paid = await client.callTool({
      name: 'run_product',
      arguments: args,
      _meta: { 'x402/payment': payment },
    } as never)
    expect(paid.content).toEqual([{ type: 'text', text: 'hello' }])
    await client.close()
  })

  test('a payment that cannot be settled buys nothing', async () => {
    const [, , open] = clients[0] ?? []
    const client = await open?.(url)
    const due = await client?.call('run_product', args)
    const payment = (await signed(due?.structuredContent)) as { payload: { signature: string } }
    const forged = { ...payment, payload: { ...payment.payload, signature: `0x${'11'.repeat(65)}` } }
    const asked = rig.server.asked.length
    const answer = await client?.call('run_product', args, { meta: { 'x402/payment': forged } })
    expect(answer?.isError).toBe(true)
    expect(JSON.stringify(answer)).not.toContain('hello')
    expect(rig.server.asked.length).toBe(asked)
    await client?.close()
  })
})
