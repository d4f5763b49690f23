/**
 * Every figure of the server equals a test's own books, by the same calendar: over midnight and a month's end, with
 * calls and jobs open, refunds, keys that are rotated and deleted. On both engines; the seed draws what happens.
 */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { byTest } from '../by-test.ts'
import { followingClock } from '../following-clock.ts'
import { chat, completion, jsonOf, testModel, USD, type VendorRequest } from '../server/harness.ts'
import { CENT, newVendor, startJobServer } from '../server/job-rig.ts'
import { engines } from '../store/engines.ts'
import { until } from '../until.ts'
import { checkCommand, checkFigures, checkReceipts } from './every-figure.ts'
import {
  backOf,
  dayOf,
  entriesOf,
  monthOf,
  nano,
  netOf,
  type OwnCharge,
  type OwnKey,
  sumOf,
} from './own-books.ts'
import { startConsoleWith, type TestConsole, type Visitor } from './rig.ts'

const SECOND = 1_000
const HOUR = 3_600 * SECOND
/** What a tenant may use in a month: a few calls. */
const CAP = CENT / 2n

type Step = {
  readonly does: 'call' | 'begin' | 'job' | 'refund' | 'rotate' | 'delete'
  readonly key: number
  readonly output: number
  readonly onCredit: boolean
}

const steps = fc.array(
  fc.record({
    does: fc.constantFrom('call', 'call', 'begin', 'begin', 'job', 'refund', 'rotate', 'delete' as const),
    key: fc.nat(1_000),
    output: fc.integer({ min: 1, max: 90 }),
    onCredit: fc.boolean(),
  }),
  { minLength: 7, maxLength: 7 },
)

type Open = { readonly ended: Promise<OwnCharge | undefined>; readonly end: () => void }

/** The command reads the ledger beside the server, so it is one that two processes can open. */
for (const engine of engines.filter(({ name }) => name !== 'SQLite in memory'))
  describe(engine.name, () => {
    let at = Date.parse('2030-12-01T09:30:00Z')
    let it: TestConsole
    let owner: Visitor
    let stop = async () => {}
    let url = ''
    const vendor = newVendor()
    const charges: OwnCharge[] = []
    const keys: OwnKey[] = []
    const deleted = new Set<string>()
    let calls: Open[] = []
    let jobs: { readonly id: string; readonly at: number; readonly key: OwnKey }[] = []

    beforeAll(async () => {
      const database = await engine.fresh()
      url = database.url
      const now = () => at
      it = await startConsoleWith((server) => startJobServer({ url: database.url, now, vendor, server }), {
        clock: { ...followingClock(now), now },
        models: [testModel('small')],
      })
      stop = () => it.stop().finally(database.stop)
      owner = await it.visit('owner@example.com', 'owner')
      await it.store.credit.grantCredit({ walletId: it.wallet, limit: USD, netDays: 14 }, byTest)
      const own = await jsonOf(await owner.ask('POST', '/keys', { label: 'own' }))
      keys.push({ id: own.id, token: own.key, counts: [own.id] })
      const tenants = [{ label: 'Acme', limits: { monthly_cap_usd: Number(CAP) / 1e9 } }, { label: 'Blue' }]
      const { data } = await jsonOf(await owner.ask('POST', '/tenants', { tenants }))
      for (const { id, key, label } of data) keys.push({ id, token: key, tenant: label, counts: [id] })
    })
    afterAll(() => stop())

    const living = (n: number): OwnKey => {
      const all = keys.filter(({ gone }) => gone === undefined)
      return all[n % all.length] as OwnKey
    }

    /** A whole call whose answer waits until it is told to end; undefined if it was refused. */
    const begin = async ({ key: n, output, onCredit }: Step): Promise<Open> => {
      const { promise, resolve } = Promise.withResolvers<void>()
      const asked = Promise.withResolvers<void>()
      it.answerWith(async (request: VendorRequest) => {
        if (!request.url.endsWith('/chat/completions')) return vendor.answer(request)
        asked.resolve()
        await promise
        return completion('x', { prompt_tokens: 11, completion_tokens: output, total_tokens: 0 })
      })
      const [key, admitted] = [living(n), at]
      const mode = onCredit ? { 'x-payment-protocol': 'mpp' } : {}
      const ended = it
        .post('/v1/chat/completions', chat({ max_tokens: output }), mode, key.token)
        .then(async (response) => {
          await response.text()
          if (response.status === 402 || response.status === 403 || response.status === 429) return undefined
          expect(response.status).toBe(200)
          const amount = nano(response.headers.get('x-cost-usd'))
          expect(amount).toBe(11n * 1_000n + BigInt(output) * 10_000n)
          const id = response.headers.get('x-request-id') ?? ''
          return { id, keyId: key.id, onCredit, at: admitted, amount, back: [] }
        })
      await Promise.race([asked.promise, ended])
      return { ended, end: resolve }
    }
    const finish = async ({ ended, end }: Open): Promise<void> => {
      end()
      const charge = await ended
      if (charge !== undefined) charges.push(charge)
    }

    const beginJob = async ({ key: n }: Step): Promise<void> => {
      it.answerWith(vendor.answer)
      vendor.says('pending')
      const key = living(n)
      const ask = { model: 'mock/film', inputs: { prompt: 'a fox' } }
      const response = await it.post('/v1/run', ask, { prefer: 'respond-async' }, key.token)
      const { id } = await jsonOf(response)
      if (response.status === 202) jobs.push({ id, at, key })
      else expect([402, 403]).toContain(response.status)
    }
    const finishJobs = async (): Promise<void> => {
      it.answerWith(vendor.answer)
      vendor.says(1)
      for (const { id, at: admitted, key } of jobs) {
        await until(async () => (await it.store.runs.run(id))?.state === 'done')
        charges.push({ id, keyId: key.id, onCredit: false, at: admitted, amount: CENT, back: [] })
      }
      jobs = []
    }

    const refund = async ({ key: n, output }: Step): Promise<void> => {
      const charge = charges[n % Math.max(1, charges.length)]
      const amount = BigInt(output) * 7n
      if (charge === undefined || charge.amount - backOf(charge) < amount) return
      const credit = charge.onCredit ? `credit:${it.wallet}` : it.wallet
      const ref = `${charge.id}:${charge.back.length}`
      await it.store.ledger.post({ kind: 'refund', ref, debit: 'revenue', credit, amount })
      charge.back.push({ amount, at })
    }

    const rotate = async ({ key: n }: Step): Promise<void> => {
      const old = living(n)
      const made = await jsonOf(await owner.ask('POST', `/keys/${old.id}/rotate`))
      keys.push({ ...old, id: made.id, token: made.key, counts: [made.id, ...old.counts] })
      old.gone = true
    }
    /** Deletes a key that was replaced, or replaces one. */
    const remove = async (step: Step): Promise<void> => {
      const replaced = living(step.key)
        .counts.slice(1)
        .find((id) => !deleted.has(id))
      if (replaced === undefined) return rotate(step)
      deleted.add(replaced)
      expect((await owner.ask('DELETE', `/keys/${replaced}`)).status).toBe(200)
    }

    const take = async (step: Step): Promise<void> => {
      if (step.does === 'call') await finish(await begin(step))
      else if (step.does === 'begin') calls.push(await begin(step))
      else if (step.does === 'job') await beginJob(step)
      else if (step.does === 'refund') await refund(step)
      else if (step.does === 'rotate') await rotate(step)
      else await remove(step)
    }

    const goOnTo = async (next: number): Promise<void> => {
      at = next
      await until(() => it.gateway.book.health().fresh)
    }

    const check = () => checkFigures({ it, owner, charges, keys, held: BigInt(jobs.length) * CENT, now: at })

    test('usage, overview, statements, reports, CSV, keys, metrics and receipts tell the same', async () => {
      const drawn = fc.sample(steps, 4)
      const nights = [
        '2030-12-01T09:30:00Z',
        '2030-12-30T23:59:55Z',
        '2030-12-31T23:59:55Z',
        '2031-01-01T05:00:00Z',
      ]
      for (const [night, from] of nights.entries()) {
        await goOnTo(Date.parse(from))
        for (const step of drawn[night] ?? []) await take(step)
        // Calls and jobs are admitted before midnight and end after it.
        at += 10 * SECOND
        for (const call of calls) await finish(call)
        calls = []
        await check()
        await finishJobs()
        await goOnTo(at + 3 * HOUR)
        await it.store.reports.rollUp()
        await check()
        for (const month of [...new Set(charges.map((charge) => monthOf(charge.at)))]) {
          const acme = keys.filter(({ tenant }) => tenant === 'Acme').flatMap(({ counts }) => counts)
          const used = charges.filter((one) => acme.includes(one.keyId) && monthOf(one.at) === month)
          expect(netOf(used)).toBeLessThanOrEqual(CAP)
        }
      }
      await it.store.credit.closeMonths()
      const [invoice] = await it.store.credit.invoices(it.wallet)
      // What is given back after an invoice was closed is in the next one.
      const closed = Date.parse('2031-01-01T00:30:00Z')
      const invoiced = charges.map((one) => ({
        ...one,
        back: one.back.filter((refund) => refund.at < closed),
      }))
      const onCredit = entriesOf(invoiced).filter((one) => one.onCredit && monthOf(one.at) === '2030-12')
      expect([invoice?.month, dayOf(at)]).toEqual(['2030-12', '2031-01-01'])
      expect(invoice?.used).toBe(sumOf(onCredit))
      await checkCommand({ it, owner, charges, keys, held: 0n, now: at }, url)
      await checkReceipts({ it, owner, charges, keys, held: 0n, now: at })
      expect(charges.length).toBeGreaterThan(10)
    })
  })
