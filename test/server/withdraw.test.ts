/**
 * Withdrawals take all free money of a wallet, to the last nano-dollar, also from idle leases, and never what a call
 * holds.
 */

import { describe, expect, test } from 'bun:test'
import { systemClock } from '../../src/core/time.ts'
import { awaitLeases } from '../../src/payment/await-leases.ts'
import { ReplayConflict } from '../../src/store/faults.ts'
import { byTest } from '../by-test.ts'
import { brokenLaws, serverEngines } from '../store/engines.ts'
import { chat, completion, startTestServer, USD } from './harness.ts'

for (const engine of serverEngines)
  describe(`withdrawals on ${engine.name}`, () => {
    test('take what is free and what idle leases give back, once a reference, and leave what open calls hold', async () => {
      const database = await engine.fresh()
      const server = await startTestServer({ url: database.url, fund: USD })
      const withdraw = (amount: bigint, ref: string) =>
        awaitLeases(systemClock, () =>
          server.store.funding.withdraw({ walletId: server.wallet, amount, ref }, byTest),
        )
      server.answerWith(() => completion('x'))
      await server.post('/v1/chat/completions', chat({ max_tokens: 5 }))
      const left = await server.balance()
      expect(left).toBe(USD - 60_000n)

      // 5 000 tokens of output at most: a twentieth of a dollar is held while the vendor thinks.
      const answered = Promise.withResolvers<void>()
      const asked = Promise.withResolvers<void>()
      server.answerWith(async () => {
        asked.resolve()
        await answered.promise
        return completion('x')
      })
      const open = server.post('/v1/chat/completions', chat({ max_tokens: 5_000 }))
      await asked.promise
      // The intent reaches the ledger while the vendor thinks.
      let held = 0n
      for (; held === 0n; await Bun.sleep(1))
        held = (await server.store.wallets.wallet(server.wallet))?.held ?? 0n
      expect(held > 50_000_000n).toBe(true)
      expect(await withdraw(left - held + 1n, 'too much')).toBe('short')
      expect(await server.balance()).toBe(left)
      const most = left - held - 1_000_000n
      expect(await withdraw(most, 'most')).toBe('posted')
      expect(await withdraw(most, 'most')).toBe('replayed')
      await expect(withdraw(1n, 'most')).rejects.toBeInstanceOf(ReplayConflict)
      expect(await server.balance()).toBe(left - most)
      answered.resolve()
      expect((await open).status).toBe(200)

      const rest = await server.balance()
      const outcomes = await Promise.all(
        Array.from({ length: 6 }, (_, at) => withdraw(rest / 3n, `at once ${at}`)),
      )
      expect(outcomes.toSorted()).toEqual(['posted', 'posted', 'posted', 'short', 'short', 'short'])
      expect(await withdraw(rest % 3n, 'last')).toBe(rest % 3n === 0n ? 'short' : 'posted')
      expect(await server.balance()).toBe(0n)
      expect(
        await server.store.funding.withdraw({ walletId: 'wal_nobody', amount: 1n, ref: 'x' }, byTest),
      ).toBe('unknown')
      expect(await brokenLaws(server.store)).toEqual([])
      await server.stop()
      await database.stop()
    })
  })
