/** The scene of a round: a server with all features on, and everything around it. */

import { listen } from '../../src/http/listen/listen.ts'
import { byTest } from '../by-test.ts'
import { type Facilitator, NETWORK, startFacilitator, UNIT } from '../chaos/facilitator.ts'
import { startTestServer, type TestServer, USD } from '../server/harness.ts'
import { type FakeStripe, startFakeStripe } from '../server/stripe-fake.ts'
import { engines } from '../store/engines.ts'
import { BUSY_MS } from '../until.ts'
import { type Ask, askWith } from './answer.ts'
import { type Choose, chooseFrom } from './choose.ts'
import { type Known, nothingKnown } from './known.ts'
import { models, startVendors, type Vendors } from './vendors.ts'

/** Silent vendors are given up after this. */
export const SILENCE_MS = 400

export type Scene = {
  readonly engine: string
  readonly server: TestServer
  readonly vendors: Vendors
  readonly stripe: FakeStripe
  readonly facilitator: Facilitator
  /** Whether the facilitator loses and delays none of its answers. */
  readonly calm: boolean
  readonly known: Known
  readonly choose: Choose
  readonly ask: Ask
  /** A key of the account that only the requests of the steps carry. */
  readonly owner: string
  /** The port of the server, for sockets. */
  readonly port: number
  stop(): Promise<void>
}

/** By seed: memory costs the least and finds the most. */
const enginesInTurn = [0, 1, 0, 2] as const

const PAY_TO = `0x${'7'.repeat(40)}`
const ASSET = `0x${'a'.repeat(40)}`

export const startScene = async (seed: number): Promise<Scene> => {
  const engine = engines[enginesInTurn[seed % enginesInTurn.length] ?? 0]
  if (engine === undefined) throw new Error('there is no such engine')
  const database = await engine.fresh()
  const choose = chooseFrom(seed)
  const vendors = startVendors()
  const stripe = startFakeStripe()
  const calm = !choose.rarely(3)
  const mishaps = chooseFrom(seed + 1)
  const facilitator = startFacilitator(() => mishaps.below(1_000) / 1_000)
  if (calm) facilitator.calm()
  const url = `http://127.0.0.1:${facilitator.port}`
  const server = await startTestServer({
    url: database.url,
    models,
    more: vendors.setups,
    stripe: stripe.settings,
    x402: {
      facilitatorUrl: url,
      offers: [
        {
          network: NETWORK,
          v1Network: 'base-sepolia',
          asset: ASSET,
          name: 'USDC',
          version: '2',
          nanoPerUnit: UNIT,
          payTo: PAY_TO,
          rpcUrl: `${url}/node`,
        },
      ],
      timeoutSeconds: 60,
      // If it loses no answer, the round waits for it, on a busy machine too.
      settleMs: calm ? BUSY_MS : 300,
      outputTokens: 100,
    },
    options: {
      bodyBytesMax: 5_000_000,
      timeouts: { firstByteMs: SILENCE_MS, idleMs: SILENCE_MS, totalMs: 10 * SILENCE_MS },
    },
  })
  await server.store.credit.grantCredit({ walletId: server.wallet, limit: 50n * USD, netDays: 14 }, byTest)
  const listening = listen(server, { hostname: '127.0.0.1', port: 0, shared: false })
  const known = nothingKnown()
  return {
    engine: engine.name,
    server,
    vendors,
    stripe,
    facilitator,
    calm,
    known,
    choose,
    ask: askWith(server.fetch, known),
    owner: (await server.newKey({}, { canManage: true })).token,
    port: listening.port,
    stop: async () => {
      listening.stop()
      await server.stop()
      await stripe.stop()
      facilitator.stop()
      await database.stop()
    },
  }
}
