/** A detail is read as it was written, in JavaScript and in SQL, whether its row has it in short or by name, as rows of former versions do. */
import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { inputTokens, outputTokens, type Usage, usageClasses } from '../../src/core/usage.ts'
import type { ReceiptFacts, UsageDetail } from '../../src/ledger/types.ts'
import { once, statement } from '../../src/store/engine/engine.ts'
import { openEngine } from '../../src/store/engine/open-engine.ts'
import { onlyRow, textOf } from '../../src/store/engine/row.ts'
import {
  DETAIL_COLUMNS,
  detailOf,
  detailRow,
  endedIn,
  isOf,
  ofCache,
  tagIn,
  vendorIn,
} from '../../src/store/ledger/call-rows.ts'
import { leastId, timeOf } from '../../src/store/months/call-ids.ts'
import type { Store } from '../../src/store/port.ts'
import { openTestStore } from '../memory-ledger.ts'
import { drawn } from '../sample.ts'
import { seed } from '../seed.ts'
import { brokenLaws, engines } from './engines.ts'
import { batchOf, CENT, createOneKey, detailFor } from './world.ts'

const texts = fc.string({ unit: 'grapheme', maxLength: 8 }).map((text) => text.replaceAll('\0', ''))
const named = fc.dictionary(fc.constantFrom('team', 'a b', 'x"}]', '__proto'), texts, { maxKeys: 3 })
const count = fc.nat(2_000_000)
const nano = fc.bigInt(0n, 10n ** 18n)
const plain: fc.Arbitrary<Usage> = fc.record({ input: count, output: count })
const usages: fc.Arbitrary<Usage> = fc.oneof(
  plain,
  plain.map(({ input = 0, output = 0 }) => ({ output, input })),
  fc.dictionary(fc.constantFrom(...usageClasses), count, { maxKeys: 4 }),
)
const hash = fc.oneof(
  fc
    .uint8Array({ minLength: 32, maxLength: 32 })
    .map((bytes) => `sha256:${Buffer.from(bytes).toString('hex')}`),
  texts,
)
const factsFor = (usage: Usage): fc.Arbitrary<ReceiptFacts> =>
  fc.record({
    prices: fc.oneof(
      fc.constant(usage),
      fc.dictionary(fc.constantFrom(...usageClasses), count, { maxKeys: 3 }),
    ),
    authorized: nano,
    payment: fc.oneof(fc.constant({ mode: 'wallet' }), fc.constant({ mode: 'wallet', sub: 's' }), named),
    requestHash: hash,
    responseHash: hash,
  })
const versions = fc.constantFrom(
  'genai-prices-0.1.8+pi-catalog-18.2.11',
  'genai-prices-0.1.8+pi-catalog-18.2.11:own-key',
  ...['genai-prices-0.1.8', 'config', '', '=0.1+2', '==0.1+2', '='],
)

const details: fc.Arbitrary<UsageDetail> = usages.chain((usage) =>
  fc.record(
    {
      keyId: fc.constantFrom('k', 'key_2'),
      model: fc.constantFrom('openai/gpt-4o-mini', 'm', 'a/b/c', '/m'),
      vendor: fc.constantFrom('openai', 'a', '', 'other'),
      usage: fc.constant(usage),
      estimated: fc.boolean(),
      priceVersion: versions,
      startedAt: fc.integer({ min: -5, max: 2 ** 45 }),
      tookMs: fc.nat(100_000),
      firstByteMs: fc.nat(100_000),
      ended: fc.constantFrom('ok', 'client_gone'),
      tags: named,
      guardrails: named,
      met: named,
      tries: fc.array(fc.record({ vendor: texts, outcome: texts, tookMs: fc.nat() }), { maxLength: 2 }),
      cacheSaved: fc.bigInt(-1000n, 1000n).map(String),
      vendorCost: nano.map(String),
      vendorKey: fc.constantFrom('own', 'house'),
      vendorEstimate: nano.map(String),
      receipt: factsFor(usage),
    },
    {
      requiredKeys: [
        ...(['keyId', 'model', 'vendor', 'usage', 'estimated', 'priceVersion'] as const),
        ...(['startedAt', 'tookMs', 'firstByteMs', 'ended'] as const),
      ],
    },
  ),
)
/** Ids begin with the time; names of what came in another way do not. */
const ids = fc.oneof(fc.nat(2 ** 45).map(leastId), fc.constantFrom('call-7', 'vendors:call:1'))

type Case = { readonly id: string; readonly detail: UsageDetail; readonly short: boolean }
const cases: fc.Arbitrary<readonly Case[]> = fc.uniqueArray(
  fc.record({
    id: fc.tuple(ids, fc.nat()).map(([id, n]) => `${id}${n}`),
    detail: details,
    short: fc.boolean(),
  }),
  { selector: ({ id }) => id, minLength: 1, maxLength: 40 },
)

/** What only reports in SQL read. */
const shown = ({ cacheSaved: _saved, vendorCost: _cost, ...detail }: UsageDetail): UsageDetail => detail

const cachedIn = ({ usage }: UsageDetail): number => (usage.cache_read ?? 0) + (usage.cache_read_audio ?? 0)
const hasCache = ({ usage, receipt, ...rest }: UsageDetail): boolean =>
  [usage, receipt?.prices ?? {}, rest].some((it) => Object.keys(it).some((name) => name.startsWith('cache_')))

for (const kind of engines.filter(({ lasting }) => lasting))
  describe(`details on ${kind.name}`, () => {
    test('are read as they were written', async () => {
      const database = await kind.fresh()
      await (await openTestStore({ url: database.url })).close()
      const engine = openEngine({ url: database.url })
      const read = `select d.call_id, ${DETAIL_COLUMNS}, ${vendorIn(engine)} as vendor, ${endedIn(engine)} as ended,
          ${tagIn(engine, '$1')} as tag, ${ofCache(engine, 'usage.cache_read', 'usage.cache_read_audio')} as cached,
          ${ofCache(engine, 'cacheSaved')} as saved
        from (select 'usage' as kind) t cross join usage_detail d`
      await fc.assert(
        fc.asyncProperty(cases, async (some) => {
          const rows = some.map(({ id, detail, short }) => detailRow(id, detail, short))
          const [, , found = []] = await engine.batch('control', [
            statement('delete from usage_detail'),
            statement(
              `insert into usage_detail (call_id, model, input_tokens, output_tokens, detail)
               select e.value->>'c', e.value->>'m', cast(e.value->>'i' as bigint), cast(e.value->>'o' as bigint), e.value->>'d'
               from ${engine.dialect.each('$1')} e`,
              JSON.stringify(rows),
            ),
            statement(read, 'team'),
          ])
          expect(found.length).toBe(rows.length)
          const byId = new Map(found.map((row) => [textOf(row, 'call_id'), row]))
          for (const { id, detail } of some) {
            const row = byId.get(id) ?? {}
            const got = detailOf(row, id, detail.keyId)
            expect(got).toEqual(shown(detail))
            // The order of the classes is that of a receipt's claims before they are sorted.
            expect(Object.keys(got?.usage ?? {}).sort()).toEqual(Object.keys(detail.usage).sort())
            expect(row).toMatchObject({ vendor: detail.vendor, ended: detail.ended })
            expect(textOf(row, 'tag')).toBe(detail.tags?.team ?? '')
            expect(Number(row.cached)).toBe(cachedIn(detail))
            if (hasCache(detail)) expect(Number(row.saved)).toBe(Number(detail.cacheSaved ?? 0))
            expect([Number(row.input_tokens), Number(row.output_tokens)]).toEqual([
              inputTokens(detail.usage),
              outputTokens(detail.usage),
            ])
            expect(got && isOf(row, got, detail.keyId)).toBe(true)
          }
        }),
        { seed, numRuns: drawn(20, 100) },
      )
      await engine.close()
      await database.stop()
    })

    test('are in short once no process of a version that reads them by name is known', async () => {
      const database = await kind.fresh()
      await (await openTestStore({ url: database.url })).close()
      const engine = openEngine({ url: database.url })
      const ask = (text: string) => once(engine, 'control', statement(text))
      await ask(`insert into instance (id, beat_at) values ('former', 1)`)
      const store = await openTestStore({ url: database.url })
      await createOneKey(store)
      const formOf = async (callId: string): Promise<string> => {
        await callWith(store, callId)
        const row = onlyRow(await ask(`select detail from usage_detail where call_id = '${callId}'`))
        return textOf(row, 'detail').slice(0, 1)
      }
      expect(await formOf('c1')).toBe('{')
      await ask('delete from instance')
      expect(await formOf('c2')).toBe('{')
      await store.instances.beat('i', undefined)
      expect(await formOf('c3')).toBe('[')
      // It is gone back to.
      await ask(`insert into instance (id, beat_at) values ('former', 1)`)
      await store.instances.beat('i', undefined)
      expect(await formOf('c4')).toBe('{')
      expect(await brokenLaws(store)).toEqual([])
      await store.close()
      await engine.close()
      await database.stop()
    })
  })

const callWith = async (store: Store, callId: string): Promise<void> => {
  const ask = { instance: 'i', keyId: 'k', leaseId: `lease ${callId}`, need: CENT, want: CENT, useful: 1n }
  const loan = await store.ledger.lend({ ...ask, ttlMs: 1e9 })
  if (loan.outcome !== 'lent') throw new Error(loan.outcome)
  const { leaseId } = loan
  const settle = { callId, leaseId, payer: 'w', charge: 1n, excess: 0n, detail: detailFor('k') }
  await store.ledger.commit(batchOf('i', { intents: [{ callId, leaseId, hold: CENT }], settles: [settle] }))
}

/** A call that took 29 ms. */
const ID = '019fb0d2-5b3b-7000-8000-000000000001'
const SHORT = '[51494,1,29,28,"=0.1.8+18.2.11"]'
const rowOf = (detail: string) => ({
  model: 'openai/gpt-4o-mini',
  input_tokens: 200,
  output_tokens: 60,
  detail,
})

test('a row of a former version and one in short say the same of a call', () => {
  const former = rowOf(
    `{"keyId":"k","model":"openai/gpt-4o-mini","vendor":"openai","usage":{"input":200,"output":60},"estimated":false,"priceVersion":"genai-prices-0.1.8+pi-catalog-18.2.11","startedAt":${timeOf(ID) + 1},"tookMs":29,"firstByteMs":28,"ended":"ok"}`,
  )
  const detail = detailOf(former, ID, 'k')
  if (detail === undefined) throw new Error('not read')
  expect(detailRow(ID, detail, false).d).toBe(former.detail)
  expect(detailRow(ID, detail, true).d).toBe(SHORT)
  expect(detailOf(rowOf(SHORT), ID, 'k')).toEqual(detail)
})

test('an edit of what a row in short has once is seen', () => {
  const row = rowOf(SHORT)
  const detail = detailOf(row, ID, 'k')
  if (detail === undefined) throw new Error('not read')
  expect(isOf(row, detail, 'k')).toBe(true)
  expect(isOf(row, detail, 'k2')).toBe(false)
  for (const edit of [{ model: 'openai/gpt-4o' }, { input_tokens: 201 }, { output_tokens: 59 }])
    expect(isOf({ ...row, ...edit }, detail, 'k')).toBe(false)
})
