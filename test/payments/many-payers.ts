/** Many payers, each with a channel, who sign voucher after voucher for the same call and are charged the same each time. */
import { expect } from 'bun:test'
import { chat, completion, testModel, USD } from '../server/harness.ts'
import type { PaperChain } from './paper-chain.ts'
import { decoded, encoded } from './payers.ts'
import { type Rig, startRig, testOffer } from './rig.ts'
import { type SigningWallet, type Wallet, walletOf } from './voucher-wallet.ts'

const WITHDRAW_SECONDS = 3_600
const PRICE = { rates: { input: 1_000_000, output: 10_000_000 }, tiers: [], version: 'test-1' }
/** Ten tokens in and five out. */
export const UNITS = 60n
export const PATH = '/v1/chat/completions'

/** Where the money of many payers goes. */
type Place = { readonly facilitator: string; readonly node: string; readonly payTo: string }

export const onPaper = ({ url }: PaperChain): Place => ({
  facilitator: url,
  node: url,
  payTo: `0x${'7'.repeat(40)}`,
})

/** A server for many payers, and what its rounds go by. */
export const openManyPayers = async ({ facilitator, node, payTo }: Place, url?: string) => {
  const offer = { ...testOffer, payTo, rpcUrl: node }
  const rule = { withdrawSeconds: WITHDRAW_SECONDS, claimSum: 1_000_000n * USD, claimSeconds: 900 }
  const options = {
    facilitatorUrl: facilitator,
    offers: [offer],
    timeoutSeconds: 3_600,
    settleMs: 60_000,
    outputTokens: 100,
    channels: rule,
  }
  // Nothing here asks the chain for what the rig would check.
  const rig: Rig = await startRig({} as never, options, {
    ...(url === undefined ? {} : { url }),
    unchecked: true,
    fund: 1_000n * USD,
    models: [testModel('small', { price: PRICE })],
  })
  rig.server.answerWith(() => completion('hello'))
  await rig.server.x402?.round()
  const wallets = (count: number): readonly Wallet[] =>
    Array.from({ length: count }, (_, at) =>
      walletOf(at + 1, { ...offer, withdrawSeconds: WITHDRAW_SECONDS }),
    )
  return { rig, rule, wallets }
}

/** What every call is asked for: the body is the same, so one quote does for all. */
export const quoteOf = async ({ quote }: Rig, body = chat()): Promise<any> => {
  const due = await quote(PATH, body)
  expect(due.status).toBe(402)
  return decoded(due.headers.get('payment-required')).accepts.find(
    ({ scheme }: { scheme: string }) => scheme === 'batch-settlement',
  )
}

/** The call of a payer that was charged so many times before. */
export const callOf = (
  rig: Rig,
  accepted: any,
  { sign, channelId, config }: SigningWallet,
  before: number,
  body = chat(),
): Request => {
  const most = BigInt(before) * UNITS + BigInt(accepted.amount)
  const voucher = { channelId, maxClaimableAmount: String(most), signature: sign(most) }
  const payload = { type: 'voucher', channelConfig: config, voucher }
  return rig.request(PATH, body, {
    'payment-signature': encoded({ x402Version: 2, accepted, payload }),
  })
}
