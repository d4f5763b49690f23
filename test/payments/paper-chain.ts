/**
 * A facilitator and a node on one port that believe everyone and count what they are asked: for many payers, where a real chain
 * would be most of the work.
 */
import { word } from '../../src/payment/x402/node.ts'
import { AUTHORIZER, CHAIN_ID } from './voucher-wallet.ts'

const BALANCES = '0x7a7ebd7b'

export type PaperChain = {
  readonly url: string
  /** Transactions that claim, and that sweep. */
  readonly sent: { claim: number; settle: number }
  /** The highest sum claimed of each channel, by its salt. */
  readonly claimed: ReadonlyMap<string, bigint>
  stop(): Promise<void>
}

export const startPaperChain = (): PaperChain => {
  const sent = { claim: 0, settle: 0 }
  const claimed = new Map<string, bigint>()
  const network = `eip155:${CHAIN_ID}`
  const kind = (scheme: string, extra: object) => ({ x402Version: 2, scheme, network, extra })
  const supported = {
    kinds: [kind('exact', {}), kind('batch-settlement', { receiverAuthorizer: AUTHORIZER })],
    extensions: [],
    signers: {},
  }
  const settle = ({ type, claims }: any): void => {
    if (type === 'claim') {
      sent.claim++
      for (const { voucher, totalClaimed } of claims) claimed.set(voucher.channel.salt, BigInt(totalClaimed))
    } else if (type === 'settle') sent.settle++
  }
  const told: Readonly<Record<string, (params: any) => unknown>> = {
    eth_getBlockByNumber: () => ({ number: '0x10', timestamp: '0x10' }),
    eth_getLogs: () => [],
    // A large deposit, of which nothing was claimed and that nobody takes back.
    eth_call: ([{ data }]) => `0x${word(data.startsWith(BALANCES) ? '38d7ea4c68000' : '0')}${word('0')}`,
  }
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: async (request) => {
      const { pathname } = new URL(request.url)
      if (pathname === '/supported') return Response.json(supported)
      const body: any = await request.json()
      if (pathname === '/verify') return Response.json({ isValid: true })
      if (pathname !== '/settle')
        return Response.json({ jsonrpc: '2.0', id: 1, result: told[body.method]?.(body.params) ?? null })
      settle(body.paymentPayload.payload)
      return Response.json({ success: true, transaction: `0x${word('1')}`, network })
    },
  })
  return { url: `http://127.0.0.1:${server.port}`, sent, claimed, stop: () => server.stop(true) }
}
