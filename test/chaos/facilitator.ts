/**
 * A facilitator and its chain in this process. It remembers what it settled and takes each authorization once; some of
 * its answers are lost, late or unsure. The node's few methods show the chain.
 */

const PAY_TO = `0x${'7'.repeat(40)}`
const ASSET = `0x${'a'.repeat(40)}`
export const NETWORK = 'eip155:84532'
/** Nano-USD in a unit of the token. */
export const UNIT = 1_000n

export type Paid = { readonly units: bigint; readonly transaction: string }

export type Facilitator = {
  readonly port: number
  /** The section of turnpike.yaml that takes payments through it. */
  readonly section: string
  /** By nonce. */
  readonly settled: ReadonlyMap<string, Paid>
  /** From now on every answer arrives. */
  calm(): void
  stop(): void
}

type Body = {
  paymentPayload: { payload: { authorization: { from: string; nonce: string; value: string } } }
}

/** Payers whose address begins with this have no money. */
export const POOR = '0xdead'

const word = (text: string): string => `0x${text.replace(/^0x/, '').padStart(64, '0')}`
const USED = '0x98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5'
const TRANSFER = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'

export const startFacilitator = (random: () => number): Facilitator => {
  const settled = new Map<string, Paid & { readonly from: string }>()
  let calm = false
  const chance = (odds: number) => !calm && random() < odds
  const hang = () => new Promise<never>(() => undefined)

  const verify = async ({ nonce }: { nonce: string }): Promise<Response> => {
    if (chance(0.02)) return new Response('busy', { status: 503 })
    return Response.json(
      settled.has(nonce)
        ? { isValid: false, invalidReason: 'invalid_exact_evm_nonce_already_used' }
        : { isValid: true },
    )
  }

  const settle = async (it: { from: string; nonce: string; value: string }): Promise<Response> => {
    if (chance(0.02)) return hang()
    await Bun.sleep(calm ? 1 : random() * 60)
    if (it.from.startsWith(POOR))
      return Response.json({
        success: false,
        errorReason: 'insufficient_funds',
        transaction: '',
        network: NETWORK,
      })
    const transaction = settled.get(it.nonce)?.transaction ?? word(it.nonce)
    settled.set(it.nonce, { units: BigInt(it.value), transaction, from: it.from })
    if (chance(0.06)) return hang()
    if (chance(0.03)) return new Response('lost', { status: 502 })
    if (chance(0.04))
      return Response.json({
        success: false,
        errorReason: 'settlement_pending',
        transaction,
        network: NETWORK,
      })
    return Response.json({ success: true, transaction, network: NETWORK, payer: it.from })
  }

  /** The node: a block, the state of a nonce, its event, and the transfer that came with it. */
  const node = ({ method, params }: { method: string; params: any[] }): unknown => {
    if (method === 'eth_getBlockByNumber')
      return { number: '0x1', timestamp: `0x${Math.floor(Date.now() / 1000).toString(16)}` }
    if (method === 'eth_call') return word(settled.has(`0x${String(params[0].data).slice(-64)}`) ? '1' : '0')
    if (method === 'eth_getLogs') {
      const paid = settled.get(params[0].topics[2])
      return paid === undefined ? [] : [{ transactionHash: paid.transaction, topics: [USED] }]
    }
    const paid = [...settled.values()].find(({ transaction }) => transaction === params[0])
    if (paid === undefined) return null
    const topics = [TRANSFER, word(paid.from), word(PAY_TO)]
    return { logs: [{ address: ASSET, topics, data: `0x${paid.units.toString(16)}` }] }
  }

  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    idleTimeout: 0,
    fetch: async (request) => {
      const { pathname } = new URL(request.url)
      if (pathname === '/supported')
        return Response.json({ kinds: [{ x402Version: 2, scheme: 'exact', network: NETWORK }] })
      const body: any = await request.json()
      if (pathname === '/node') return Response.json({ jsonrpc: '2.0', id: body.id, result: node(body) })
      const { authorization } = (body as Body).paymentPayload.payload
      return pathname === '/verify' ? verify(authorization) : settle(authorization)
    },
  })
  const url = `http://127.0.0.1:${server.port}`
  return {
    port: server.port!,
    section: `
x402:
  facilitator: ${url}
  pay_to: "${PAY_TO}"
  settle_seconds: 1
  accept:
    - { network: "${NETWORK}", v1_network: base-sepolia, asset: "${ASSET}", name: USDC, version: "2", decimals: 6, rpc_url: "${url}/node" }
`,
    settled,
    calm: () => {
      calm = true
    },
    stop: () => void server.stop(true),
  }
}
