/** More payers than one transaction has room for are claimed in as few as they need, to the unit. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { brokenLaws, serverEngines } from '../store/engines.ts'
import { callOf, openManyPayers, quoteOf, UNITS } from './many-payers.ts'
import { startPaperChain } from './paper-chain.ts'

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
        open = await openManyPayers(paper, database.url)
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
        expect(paper.sent).toEqual({ claim: 2, settle: sweeps + 1 })
        const charged = Array.from({ length: PAYERS }, (_, payer) => BigInt(callsOf(payer)) * UNITS)
        const saltOf = (payer: number) => `0x${(payer + 1).toString(16).padStart(64, '0')}`
        expect(charged.map((_, payer) => paper.claimed.get(saltOf(payer)))).toEqual(charged)
        const sum = charged.reduce((all, one) => all + one, 0n)
        expect(await rig.server.store.ledger.balance('x402')).toBe(-sum * 1_000n)
        expect(await brokenLaws(rig.server.store)).toEqual([])
      })
    })
})
