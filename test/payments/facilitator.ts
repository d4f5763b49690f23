/** A facilitator made of the official parts, whose answers a test can lose, delay or spoil. */
import { x402Facilitator } from '@x402/core/facilitator'
import { toFacilitatorEvmSigner } from '@x402/evm'
import { BatchSettlementEvmScheme } from '@x402/evm/batch-settlement/facilitator'
import { registerExactEvmScheme } from '@x402/evm/exact/facilitator'
import { UptoEvmScheme } from '@x402/evm/upto/facilitator'
import { createWalletClient, http, publicActions } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { baseSepolia } from 'viem/chains'
import { createNonceManager, jsonRpc } from 'viem/nonce'
import { accountOf, keyOf, type TestChain } from './chain.ts'

type Path = 'verify' | 'settle'

/**
 * What happens to one request: it gets lost, its answer is lost, its answer is nonsense or a fault, or something else
 * comes first.
 */
type Mishap = 'deaf' | 'lost' | 'garbage' | 'fault' | (() => Promise<void>)

export type TestFacilitator = {
  readonly url: string
  readonly asked: Record<Path, number>
  /** The next requests on a path meet these. */
  meet(path: Path, ...mishaps: Mishap[]): void
  /** Forgets the mishaps that no request met. */
  calm(): void
  /** The next settlement of this type (`deposit`, `claim`, `settle`) is never answered; resolves once it waits. */
  hold(type: string, when: 'before' | 'after'): Promise<void>
  stop(): Promise<void>
}

type Body = { paymentPayload: never; paymentRequirements: never }

type Held = { readonly type: string; readonly when: 'before' | 'after'; readonly reached: () => void }

export const startFacilitator = async (chain: TestChain, confirmMs = 5_000): Promise<TestFacilitator> => {
  // Its own: the count is that of one chain, and tests start several under one number.
  const nonceManager = createNonceManager({ source: jsonRpc() })
  const account = privateKeyToAccount(keyOf(accountOf(0)), { nonceManager })
  const client = createWalletClient({
    account,
    chain: baseSepolia,
    transport: http(chain.url),
    pollingInterval: 20,
    cacheTime: 0,
  }).extend(publicActions)
  const signer = toFacilitatorEvmSigner(
    {
      address: account.address,
      getCode: (it: never) => client.getCode(it),
      readContract: (it: { args?: unknown[] }) =>
        client.readContract({ ...it, args: it.args ?? [] } as never),
      verifyTypedData: (it: never) => client.verifyTypedData(it),
      writeContract: (it: { args?: unknown[] }) =>
        client.writeContract({ ...it, args: it.args ?? [] } as never),
      sendTransaction: (it: never) => client.sendTransaction(it),
      waitForTransactionReceipt: (it: never) => client.waitForTransactionReceipt(it),
    } as never,
    { confirmationTimeoutMs: confirmMs } as never,
  )
  const facilitator = registerExactEvmScheme(new x402Facilitator(), {
    signer,
    networks: 'eip155:84532',
  } as never)
  facilitator.register('eip155:84532', new UptoEvmScheme(signer))
  facilitator.register('eip155:84532', new BatchSettlementEvmScheme(signer, accountOf(7)))
  const waiting: Record<Path, Mishap[]> = { verify: [], settle: [] }
  const asked: Record<Path, number> = { verify: 0, settle: 0 }
  let held: Held | undefined
  const holdFor = (path: Path, body: Body): Held | undefined => {
    const { payload } = body.paymentPayload as { payload?: { type?: string } }
    if (path !== 'settle' || held === undefined || payload?.type !== held.type) return undefined
    const found = held
    held = undefined
    return found
  }
  const answer = async (path: Path, body: Body): Promise<Response> => {
    asked[path]++
    const stop = holdFor(path, body)
    if (stop !== undefined) {
      if (stop.when === 'after') await facilitator[path](body.paymentPayload, body.paymentRequirements)
      stop.reached()
      return new Promise(() => undefined)
    }
    const mishap = waiting[path].shift()
    if (mishap === 'deaf') return new Promise(() => undefined)
    if (mishap === 'garbage') return new Response('<html>', { status: 200 })
    if (mishap === 'fault') return Response.json({ error: 'out of order' }, { status: 500 })
    if (typeof mishap === 'function') await mishap()
    const work = async () => facilitator[path](body.paymentPayload, body.paymentRequirements)
    // Only mishaps that a test asks for are its own: a check that the busy chain failed is made again, and told.
    const again = (error: unknown) => {
      console.error('the facilitator of the tests could not verify at once:', error)
      return work()
    }
    const result = await (path === 'settle' ? work() : work().catch(again))
    return mishap === 'lost' ? new Promise(() => undefined) : Response.json(result)
  }
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    idleTimeout: 0,
    fetch: async (request) => {
      const { pathname } = new URL(request.url)
      if (pathname === '/supported') return Response.json(facilitator.getSupported())
      const path = pathname === '/verify' ? 'verify' : 'settle'
      return answer(path, (await request.json()) as Body)
    },
    error: (error) => Response.json({ error: error.message }, { status: 500 }),
  })
  return {
    url: `http://127.0.0.1:${server.port}`,
    asked,
    meet: (path, ...mishaps) => void waiting[path].push(...mishaps),
    hold: (type, when) =>
      new Promise((reached) => {
        held = { type, when, reached }
      }),
    calm: () => {
      waiting.verify = []
      waiting.settle = []
    },
    stop: () => server.stop(true),
  }
}
