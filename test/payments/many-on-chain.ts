/** Many payers on a chain of our own: each deposits with the official client, and signs its vouchers with the key of its account. */
import { expect } from 'bun:test'
import { type Address, hexToBytes } from 'viem'
import { chat } from '../server/harness.ts'
import { brokenLaws } from '../store/engines.ts'
import { accountOf, keyOf, type TestChain } from './chain.ts'
import { claimedFor, payerOf } from './channels.ts'
import type { TestFacilitator } from './facilitator.ts'
import { callOf, openManyPayers, PATH, quoteOf, UNITS } from './many-payers.ts'
import { optionsFor } from './rig.ts'
import { type SigningWallet, signerOf } from './voucher-wallet.ts'

/** Quotes that a payer deposits at once. */
const DEPOSIT = 30
const DEPOSIT_TRIES = 5
/** Payers who call at the same time: their calls share commits, and each has one call at a time. */
const AT_ONCE = 32

type Phase = { readonly transactions: number; readonly ms: number; readonly cpuMs: number }

type Settled = {
  /** The first call of each payer, with its deposit. */
  readonly deposits: Phase
  /** All further calls, and the claims that came due meanwhile. */
  readonly calls: Phase
  /** The claim of what was left. */
  readonly end: Phase
  /** What reached the receiver, which is what the payers were charged. */
  readonly units: bigint
}

export type ManyOnChain = {
  readonly chain: TestChain
  readonly facilitator: TestFacilitator
  readonly payers: number
  /** Calls of each. */
  readonly calls: number
  readonly url?: string | undefined
  /** Nano-USD of unclaimed vouchers that a round claims. */
  readonly claimSum: bigint
}

/**
 * They all call in turns, all is claimed, and chain and ledger must agree to the last unit. The facilitator sends every
 * transaction, so its count on the chain is that of the transactions.
 */
export const settleManyOnChain = async (it: ManyOnChain): Promise<Settled> => {
  const { chain, facilitator, payers, calls, url, claimSum } = it
  const payTo = optionsFor(facilitator, chain).offers[0]?.payTo as Address
  const { rig, rule } = await openManyPayers({ facilitator: facilitator.url, node: chain.url, payTo }, url)
  const { server } = rig
  rule.claimSum = claimSum
  const accounts: Awaited<ReturnType<TestChain['newPayer']>>[] = []
  for (let at = 0; at < payers; at++) accounts.push(await chain.newPayer(1_000_000n))
  const sent = () => chain.client.getTransactionCount({ address: accountOf(0).address })
  const phase = async (work: () => Promise<void>): Promise<Phase> => {
    const [transactions, at, cpu] = [await sent(), performance.now(), process.cpuUsage()]
    await work()
    const ms = performance.now() - at
    const { user, system } = process.cpuUsage(cpu)
    return { transactions: (await sent()) - transactions, ms, cpuMs: (user + system) / 1_000 }
  }
  const answered = async (response: Response): Promise<void> => {
    const text = await response.text()
    if (response.status !== 200) throw new Error(`${response.status} ${text}`)
  }

  const wallets: SigningWallet[] = []
  const deposit = async (account: (typeof accounts)[0]): Promise<void> => {
    const { pay, sent } = payerOf(chain, account, server.fetch, { deposit: DEPOSIT })
    let answer = await pay(rig.request(PATH, chat()))
    const [{ payment, request }] = sent as [(typeof sent)[0]]
    // A busy node may leave the deposit waiting for a block; the same payment is sent again, as payers are told to.
    for (let tries = 0; answer.status === 503 && tries < DEPOSIT_TRIES; tries++) {
      await chain.client.mine({ blocks: 1 })
      answer = await server.fetch(request.clone() as Request)
    }
    await answered(answer)
    const { channelConfig: config, voucher } = payment.payload
    const { channelId } = voucher
    wallets.push({ config, channelId, sign: signerOf(hexToBytes(keyOf(account)), channelId) })
  }
  const deposits = await phase(async () => {
    // One by one: a busy node leaves one waiting that came beside another.
    for (const account of accounts) await deposit(account)
  })
  const accepted = await quoteOf(rig)
  const called = await phase(async () => {
    for (let before = 1; before < calls; before++)
      for (let from = 0; from < wallets.length; from += AT_ONCE) {
        const some = wallets.slice(from, from + AT_ONCE)
        await Promise.all(
          some.map(async (wallet) => answered(await server.fetch(callOf(rig, accepted, wallet, before)))),
        )
      }
  })
  rule.claimSum = 1n
  const end = await phase(async () => server.x402?.round())

  const units = BigInt(payers * calls) * UNITS
  expect(await claimedFor(chain, payTo)).toBe(units)
  expect(await chain.unitsOf(payTo)).toBe(units)
  expect(await server.store.ledger.balance('x402')).toBe(-units * 1_000n)
  expect(await brokenLaws(server.store)).toEqual([])
  await server.stop()
  return { deposits, calls: called, end, units }
}
