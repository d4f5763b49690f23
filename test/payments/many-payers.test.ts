/** More payers than one transaction has room for are claimed in as few as they need, to the unit. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { chat, completion, streamEvents, streaming, testModel, USD } from '../server/harness.ts'
import { brokenLaws, serverEngines } from '../store/engines.ts'
import { hasChain } from './chain.ts'
import { installChannels } from './channels.ts'
import { settleManyOnChain } from './many-on-chain.ts'
import { callOf, onPaper, openManyPayers, quoteOf, UNITS } from './many-payers.ts'
import { onChain } from './on-chain.ts'
import { startPaperChain } from './paper-chain.ts'
import type { Wallet } from './voucher-wallet.ts'

const PAYERS = 101
/** The first ones call more often. */
const callsOf = (payer: number): number => (payer < 10 ? 3 : 1)

describe('many payers with vouchers', () => {
  for (const engine of serverEngines)
    describe(`on ${engine.name}`, () => {
      let database: Awaited<ReturnType<typeof engine.fresh>>
      const paper = startPaperChain()
      let open: Awaited<ReturnType<typeof openManyPayers>>
      beforeAll(async () => {
        database = await engine.fresh()
        open = await openManyPayers(onPaper(paper), database.url)
        // The only round is that of the test: one of the server's own beside it would claim and sweep as well.
        open.rig.server.x402?.stop()
      })
      afterAll(async () => {
        await open.rig.server.stop()
        await database.stop()
        await paper.stop()
      })

      test('a hundred of them share a transaction, however many calls they made', async () => {
        const { rig, rule, wallets } = open
        const accepted = await quoteOf(rig)
        for (const [payer, wallet] of wallets(PAYERS).entries())
          for (let before = 0; before < callsOf(payer); before++) {
            const response = await rig.server.fetch(callOf(rig, accepted, wallet, before))
            expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('hello')])
          }
        expect(paper.sent.claim).toBe(0)
        rule.claimSum = 1n
        const sweeps = paper.sent.settle
        await rig.server.x402?.round()
        // A round of the server's own may claim and sweep beside this one.
        expect(paper.sent.claim).toBe(2)
        expect(paper.sent.settle).toBeGreaterThan(sweeps)
        const charged = Array.from({ length: PAYERS }, (_, payer) => BigInt(callsOf(payer)) * UNITS)
        const saltOf = (payer: number) => `0x${(payer + 1).toString(16).padStart(64, '0')}`
        expect(charged.map((_, payer) => paper.claimed.get(saltOf(payer)))).toEqual(charged)
        const sum = charged.reduce((all, one) => all + one, 0n)
        expect(await rig.server.store.ledger.balance('x402')).toBe(-sum * 1_000n)
        expect(await brokenLaws(rig.server.store)).toEqual([])
      })

      test('a vendor that bills more than was asked for is not paid out of the rest of a deposit', async () => {
        const { rig, wallets } = open
        const streamed = chat({ stream: true })
        const accepted = await quoteOf(rig, streamed)
        const wallet = wallets(PAYERS + 1)[PAYERS] as Wallet
        const usage = { prompt_tokens: 10, completion_tokens: 90_000 }
        rig.server.answerWith(() => streaming(streamEvents(['hello'], usage)))
        const response = await rig.server.fetch(callOf(rig, accepted, wallet, 0, streamed))
        expect([response.status, (await response.text()).length > 0]).toEqual([200, true])
        const channel = await rig.server.store.channels.channel(`${accepted.network}:${wallet.channelId}`)
        expect(channel?.charged).toBe(BigInt(accepted.amount) * 1_000n)
        expect(await brokenLaws(rig.server.store)).toEqual([])
      })

      test('a price that rises after the voucher was signed takes no more than it allows', async () => {
        const { rig, wallets } = open
        const { server } = rig
        const body = chat({ stream: true, max_tokens: 50 })
        const accepted = await quoteOf(rig, body)
        const wallet = wallets(PAYERS + 2)[PAYERS + 1] as Wallet
        const { offering } = server.gateway
        const dear = testModel('small', {
          price: { rates: { input: 100_000_000, output: 1_000_000_000 }, tiers: [], version: 'test-2' },
        })
        server.sell({ ...offering, catalogue: { ...offering.catalogue, find: () => dear } })
        try {
          server.answerWith(() => streaming(streamEvents(['hel', 'lo'])))
          const response = await server.fetch(callOf(rig, accepted, wallet, 0, body))
          expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('[DONE]')])
        } finally {
          server.sell(offering)
          server.answerWith(() => completion('hello'))
        }
        const channel = await server.store.channels.channel(`${accepted.network}:${wallet.channelId}`)
        expect(channel?.charged).toBe(BigInt(accepted.amount) * 1_000n)
        expect(await brokenLaws(server.store)).toEqual([])
      })
    })
})

describe.skipIf(!hasChain)('many payers on a chain', () => {
  const on = onChain(installChannels)

  test('they are claimed a hundred in a transaction, and the chain is the ledger', async () => {
    const { chain, facilitator } = on
    const its = { chain, facilitator, payers: PAYERS, calls: 2, claimSum: 1_000_000n * USD }
    const { deposits, calls, end } = await settleManyOnChain(its)
    expect(deposits.transactions).toBe(PAYERS)
    expect(calls.transactions).toBe(0)
    // Two claims and a sweep, unless a slow machine lets some become due by themselves.
    expect(end.transactions).toBeLessThanOrEqual(PAYERS / 10)
  })
})
