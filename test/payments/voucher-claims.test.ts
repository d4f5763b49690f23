/** Vouchers are claimed many at a time, before any payer who leaves has its deposit back; chain and ledger agree. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { chat, completion, jsonOf, streamEvents, testModel, USD } from '../server/harness.ts'
import { brokenLaws, serverEngines } from '../store/engines.ts'
import { until } from '../until.ts'
import { hasChain } from './chain.ts'
import {
  announce,
  channelAt,
  claimedFor,
  installChannels,
  leave,
  nameOf,
  newPayer,
  WITHDRAW_SECONDS,
} from './channels.ts'
import { onChain } from './on-chain.ts'
import { optionsFor, type Rig, startRig } from './rig.ts'

const run = (more: object = {}) => ({
  model: 'mock/small',
  inputs: { messages: [{ role: 'user', content: 'hi' }], ...more },
})
const PRICE = { rates: { input: 1_000_000, output: 10_000_000 }, tiers: [], version: 'test-1' }
const UNITS = 60n
const NEVER = 1_000_000n * USD

describe.skipIf(!hasChain)('claims of x402 vouchers', () => {
  for (const engine of serverEngines)
    describe(`on ${engine.name}`, () => {
      const on = onChain(installChannels)
      let database: Awaited<ReturnType<typeof engine.fresh>>
      let rig: Rig
      /** The server reads it at each round. */
      const rule = { withdrawSeconds: WITHDRAW_SECONDS, claimSum: NEVER, claimSeconds: 900 }
      /** A round that claims whatever there is. */
      const claimAll = async () => {
        rule.claimSum = 1n
        await rig.server.x402?.round()
        rule.claimSum = NEVER
      }
      beforeAll(async () => {
        database = await engine.fresh()
        rig = await startRig(on.chain, optionsFor(on.facilitator, on.chain, { channels: rule }), {
          url: database.url,
          models: [testModel('small', { price: PRICE })],
        })
        await rig.server.x402?.round()
      })
      beforeEach(() => rig.server.answerWith(() => completion('hello')))
      afterAll(async () => {
        await rig.server.stop()
        await database.stop()
      })
      const receiver = () => rig.options.offers[0]?.payTo as `0x${string}`
      const check = async () => {
        const claimed = await claimedFor(on.chain, receiver())
        expect(await rig.server.store.ledger.balance('x402')).toBe(-claimed * 1_000n)
        expect(await brokenLaws(rig.server.store)).toEqual([])
        return claimed
      }
      const payer = () => newPayer(on.chain, rig.server.fetch)
      const channelOf = ({ sent }: Awaited<ReturnType<typeof payer>>) =>
        rig.server.store.channels.channel(nameOf(sent))
      const configOf = ({ sent }: Awaited<ReturnType<typeof payer>>) => sent[0]?.payment.payload.channelConfig
      const idOf = ({ sent }: Awaited<ReturnType<typeof payer>>) => sent[0]?.payment.payload.voucher.channelId

      /** A stream that this payer buys, in the middle of which something happens. */
      const streamDuring = async (
        { pay }: Awaited<ReturnType<typeof payer>>,
        what: () => Promise<unknown>,
      ): Promise<void> => {
        let happened = false
        rig.server.answerWith(() => {
          const events = streamEvents(['hel', 'lo']).join('')
          return new Response(
            new ReadableStream({
              async start(controller) {
                await what()
                happened = true
                controller.enqueue(new TextEncoder().encode(events))
                controller.close()
              },
            }),
            { headers: { 'content-type': 'text/event-stream' } },
          )
        })
        const body = chat({ stream: true, stream_options: { include_usage: true } })
        const stream = await pay(rig.request('/v1/chat/completions', body))
        expect([stream.status, await stream.text()]).toEqual([200, expect.stringContaining('[DONE]')])
        expect(happened).toBe(true)
      }

      test('nothing is claimed before its sum is reached; then all in one transaction, and swept', async () => {
        const before = await check()
        const payers = [await payer(), await payer(), await payer()]
        for (const { pay } of payers)
          for (const seed of [1, 2])
            expect((await pay(rig.request('/v1/run', run({ seed })))).status).toBe(200)
        await rig.server.x402?.round()
        expect(await check()).toBe(before)
        const settles = on.facilitator.asked.settle
        rule.claimSum = 6n * UNITS * 1_000n
        await rig.server.x402?.round()
        rule.claimSum = NEVER
        expect(on.facilitator.asked.settle).toBe(settles + 2)
        expect(await check()).toBe(before + 6n * UNITS)
        expect(await on.chain.unitsOf(receiver())).toBe(before + 6n * UNITS)
        expect(await rig.server.store.ledger.balance('revenue')).toBeGreaterThanOrEqual(6n * UNITS * 1_000n)
        // A channel goes on after a claim.
        const [first] = payers as [(typeof payers)[0]]
        expect((await first.pay(rig.request('/v1/run', run({ seed: 3 })))).status).toBe(200)
        expect(await channelOf(first)).toMatchObject({ charged: 180_000n, claimed: 120_000n })
        await check()
      })

      test('a claim whose answer is lost is claimed again, and counts once', async () => {
        const one = await payer()
        expect((await one.pay(rig.request('/v1/run', run()))).status).toBe(200)
        on.facilitator.meet('settle', 'lost')
        await claimAll()
        expect((await channelOf(one))?.claimed).toBe(0n)
        await until(async () => {
          await claimAll()
          return (await channelOf(one))?.claimed === UNITS * 1_000n
        })
        on.facilitator.calm()
        await check()
      })

      test('a payer who announces that it leaves is claimed at once, and gets no further answer', async () => {
        const one = await payer()
        expect((await one.pay(rig.request('/v1/run', run()))).status).toBe(200)
        const { balance } = await channelAt(on.chain, idOf(one))
        await streamDuring(one, () => announce(on.chain, one.account, configOf(one), balance - UNITS))
        rig.server.answerWith(() => completion('hello'))
        await until(async () => {
          await rig.server.x402?.round()
          return (await channelOf(one))?.claimed === 2n * UNITS * 1_000n
        })
        await check()
        const asked = rig.server.asked.length
        const refused = await one.pay(rig.request('/v1/run', run({ seed: 9 })))
        expect([refused.status, (await jsonOf(refused)).error]).toEqual([402, 'channel_is_being_withdrawn'])
        expect(rig.server.asked).toHaveLength(asked)
        await check()
      })

      // The chain's clock jumps, so that no deposit is good after this.
      test('what payers took along while no process watched is the loss of the house, and no other claim waits for it', async () => {
        const gone = await payer()
        const amid = await payer()
        const there = await payer()
        for (const { pay } of [gone, amid, there])
          expect((await pay(rig.request('/v1/run', run()))).status).toBe(200)
        const takeAlong = async (one: typeof gone) => {
          const { balance, claimed } = await channelAt(on.chain, idOf(one))
          await announce(on.chain, one.account, configOf(one), balance - claimed)
          await leave(on.chain, one.account, configOf(one))
        }
        const loss = await rig.server.store.ledger.balance('loss')
        await takeAlong(gone)
        await streamDuring(amid, () => takeAlong(amid))
        await claimAll()
        expect(await channelOf(there)).toMatchObject({ claimed: UNITS * 1_000n, lost: 0n })
        expect(await channelOf(gone)).toMatchObject({ claimed: 0n, lost: UNITS * 1_000n })
        expect(await channelOf(amid)).toMatchObject({ claimed: 0n, lost: 2n * UNITS * 1_000n })
        expect(await rig.server.store.ledger.balance('loss')).toBe(loss - 3n * UNITS * 1_000n)
        // Who took its deposit along gets no further answer.
        const asked = rig.server.asked.length
        for (const { pay } of [gone, amid])
          expect((await pay(rig.request('/v1/run', run({ seed: 9 })))).status).toBe(402)
        expect(rig.server.asked).toHaveLength(asked)
        await check()
      })
    })
})
