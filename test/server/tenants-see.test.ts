/**
 * What tenants are told of money: their reseller's price, or nothing, and never what the reseller is charged; and the
 * ledger knows nothing of that choice.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { changeRules } from '../../src/control/money/rules.ts'
import { decimalFromNano, nanoFromDecimal } from '../../src/core/money.ts'
import { systemClock } from '../../src/core/time.ts'
import { recompute, recomputes } from '../../src/receipts/recompute.ts'
import { billedFor } from '../../src/tenancy/margin.ts'
import { byTest } from '../by-test.ts'
import { postgresForTests } from '../postgres.ts'
import { serverEngines, stopSound } from '../store/engines.ts'
import { chatLine, startBatchServer } from './batch-rig.ts'
import { chat, completion, jsonOf, startTestServer } from './harness.ts'
import { MARGIN, OWN, playTenant, type See } from './tenant-session.ts'

type Played = Awaited<ReturnType<typeof playTenant>>

/** Amounts of money; no other number in answers has so many decimals. */
const FIGURE = /(?<![\d.])\d+\.\d{4,}(?![\d.])/g
const digitsOf = (figure: string) => figure.replace(/^0\.0*|\./g, '')
const figuresIn = ({ read }: Pick<Played, 'read'>): ReadonlySet<string> =>
  new Set(
    read
      .flatMap(({ text }) => text.match(FIGURE) ?? [])
      .filter((figure) => digitsOf(figure).length >= 6 && !OWN.includes(figure)),
  )

/** A request without the ids in it. */
const kindOf = ({ name, status }: { readonly name: string; readonly status: number }) =>
  `${name.replace(/[\da-f]{8}-?[\da-f]{4}(?:[\da-z]{12}|-[\da-f]{4}).*/, '')} ${status}`

const usdIn = (text: string): bigint => nanoFromDecimal(text) ?? -1n

for (const engine of serverEngines)
  describe(`tenants on ${engine.name}`, () => {
    const played = new Map<See, Played>()
    const databases = new Map<See, Awaited<ReturnType<typeof engine.fresh>>>()
    const of = (see: See): Played => played.get(see) as Played
    beforeAll(async () => {
      for (const see of ['cost', 'price', 'nothing'] as const) {
        const database = await engine.fresh()
        databases.set(see, database)
        played.set(see, await playTenant(database.url, see))
      }
    })
    afterAll(async () => {
      for (const [see, database] of databases) await stopSound(of(see).scene.server, database)
    })

    /** The charges of the ledger, by call: those of sockets and of the background too. */
    const chargesOf = async ({ scene }: Played) => {
      const { lines } = await scene.server.store.reports.calls({ orgs: ['org_test'], most: 1_000 })
      const charged = lines.filter(({ failure }) => failure === undefined)
      return new Map(charged.map(({ id, amount }) => [id, amount]))
    }

    test('the session is the same but for its figures', () => {
      const kinds = (see: See) => [...new Set(of(see).read.map(kindOf))].toSorted()
      expect(kinds('price')).toEqual(kinds('cost'))
      expect(figuresIn(of('cost')).size).toBeGreaterThan(60)
      expect(figuresIn(of('price')).size).toBeGreaterThan(60)
    })

    test.each(['price', 'nothing'] as const)(
      'no byte of what is read under %s tells the cost',
      async (see) => {
        const charges = [...(await chargesOf(of('cost'))).values()]
        expect(charges.length).toBeGreaterThan(20)
        const costs = new Set([...figuresIn(of('cost')), ...charges.map(decimalFromNano)].map(digitsOf))
        for (const { name, text } of of(see).read) {
          const told = [...text.matchAll(/\d+(?:\.\d+)?/g)].map(([figure]) => digitsOf(figure))
          expect([name, told.filter((digits) => costs.has(digits))]).toEqual([name, []])
        }
      },
    )

    test('where nothing is told, no member of money is there', () => {
      const members =
        /"(?:cost|cost_details|pricing|_remaining_credits|_balance_warning|\w+_credits|\w+_usd|receipt)":(?!\{"(?:type|description)")|x-cost-usd|x-receipt/
      for (const { name, text } of of('nothing').read)
        expect([name, members.exec(text)?.[0]]).toEqual([name, undefined])
    })

    test.each(['price', 'nothing'] as const)(
      'the ledger under %s is what it is without the choice',
      (see) => {
        expect(of(see).ledger).toBe(of('cost').ledger)
      },
    )

    test('each answer tells the charge at the price, and receipts prove it', async () => {
      const { scene, read, calls } = of('price')
      const charges = await chargesOf(of('price'))
      const told = read.flatMap(({ name, text }) => {
        const id = /x-request-id: (\S+)/.exec(text)?.[1] ?? ''
        const cost = /x-cost-usd: (\S+)/.exec(text)?.[1]
        return cost === undefined || name.startsWith('GET') ? [] : [[id, usdIn(cost)] as const]
      })
      expect(told.length).toBeGreaterThan(12)
      for (const [id, cost] of told)
        expect([id, cost]).toEqual([id, billedFor(charges.get(id) ?? -1n, MARGIN)])
      let proven = 0
      for (const id of new Set(calls)) {
        const answer = await scene.server.get(`/v1/receipts/${id}`, scene.tenant.token)
        if (answer.status !== 200) continue
        const { receipt, claims } = await jsonOf(answer)
        const verdict = await jsonOf(
          await scene.server.post('/api/receipts/verify', { receipt }, {}, scene.tenant.token),
        )
        expect(verdict).toMatchObject({ valid: true, claims })
        const charge = charges.get(id) ?? -1n
        expect([claims.cost.priced_by, claims.jti]).toEqual(['test', `rcp_${id}.price`])
        expect([recomputes(claims), recompute(claims)]).toEqual([true, billedFor(charge, MARGIN)])
        // The house's own stays what it was, for the reseller.
        const ours = await jsonOf(await scene.server.get(`/v1/receipts/${id}`, scene.reseller.token))
        expect([ours.claims.jti, usdIn(ours.claims.cost.amount), recomputes(ours.claims)]).toEqual([
          `rcp_${id}`,
          charge,
          true,
        ])
        proven++
      }
      expect(proven).toBeGreaterThan(20)
      // What came with an answer is what is given again.
      const [one] = read.filter(({ text }) => text.includes('x-receipt: '))
      const [id, sent] = [/x-request-id: (\S+)/, /x-receipt: (\S+)/].map(
        (at) => at.exec(one?.text ?? '')?.[1],
      )
      const again = await jsonOf(await scene.server.get(`/v1/receipts/${id}`, scene.tenant.token))
      expect(again.receipt).toBe(sent)
    })

    test.each(['price', 'nothing'] as const)(
      'its list of calls under %s tells no other figure',
      async (see) => {
        const { scene } = of(see)
        const charges = await chargesOf(of(see))
        const { data } = await jsonOf(await scene.server.get('/v1/calls?limit=500', scene.tenant.token))
        expect(data.length).toBeGreaterThan(20)
        for (const { id, prices, cost_usd: cost, ...rest } of data) {
          const due = billedFor(charges.get(id) ?? 0n, MARGIN)
          expect([id, prices, cost === undefined ? undefined : usdIn(String(cost))]).toEqual([
            id,
            null,
            see === 'price' ? due : undefined,
          ])
          expect(Object.keys(rest).filter((name) => name.endsWith('_usd'))).toEqual(
            see === 'price' ? ['refunded_usd'] : [],
          )
          const { data: one = undefined, ...call } = await jsonOf(
            await scene.server.get(`/v1/calls/${id}`, scene.tenant.token),
          )
          expect((one ?? call).cost_usd).toEqual(cost)
        }
      },
    )

    test('the statement is what the tenant reads by model, at most a nano-dollar a call below its answers', async () => {
      const { scene } = of('price')
      const charges = [...(await chargesOf(of('price'))).values()].filter((charge) => charge > 0n)
      const { data } = await jsonOf(
        await scene.server.get('/v1/usage?group_by=month,model', scene.tenant.token),
      )
      const ours = await jsonOf(
        await scene.server.get('/v1/usage?group_by=month,model', scene.reseller.token),
      )
      const lines = data.rows.map((row: any) => [row.model, usdIn(String(row.cost_usd))])
      expect(lines).toEqual(
        ours.data.rows.map((row: any) => [row.model, billedFor(usdIn(String(row.cost_usd)), MARGIN)]),
      )
      const statement = lines.reduce((sum: bigint, [, cost]: [string, bigint]) => sum + cost, 0n)
      const answers = charges.reduce((sum, charge) => sum + billedFor(charge, MARGIN), 0n)
      expect(answers - statement).toBeGreaterThanOrEqual(0n)
      expect(answers - statement).toBeLessThan(BigInt(charges.length))
    })
  })

test('every process tells the new price, or the choice, once the change is answered', async () => {
  const { url, stop } = await postgresForTests()
  const one = await startTestServer({ url })
  const other = await startTestServer({ url })
  const reseller = await one.newKey({}, { canManage: true })
  const { token } = await one.newKey({}, { parentId: reseller.id })
  const told = async () =>
    (await other.post('/v1/chat/completions', chat({ max_tokens: 9 }), {}, token)).headers.get('x-cost-usd')
  expect(await told()).toBe('0.00006')
  const wallet = one.wallet
  const choose = (see: See) =>
    changeRules(one.gateway, { walletId: wallet, change: { tenantsSee: see }, by: byTest })
  await choose('price')
  for (const basisPoints of [2_500, 5_000, 0]) {
    const margin = { fromMonth: '2020-01', basisPoints }
    await one.gateway.book.untilKnown(await one.store.tenants.setMargin('org_test', margin, byTest))
    expect(await told()).toBe(decimalFromNano(billedFor(60_000n, basisPoints)))
  }
  await choose('nothing')
  expect(await told()).toBeNull()
  await choose('cost')
  expect(await told()).toBe('0.00006')
  await other.stop()
  await stopSound(one, { stop })
})

/** A tenant whose price is higher from April 2027 on: a call of 0.00006 USD is 0.00009 before, and then 0.00012. */
const startDearer = async (now: () => number) => {
  const server = await startBatchServer({ now, server: { clock: { ...systemClock, now } } })
  const reseller = await server.newKey({}, { canManage: true })
  const { token } = await server.newKey({}, { parentId: reseller.id })
  for (const [fromMonth, basisPoints] of [
    ['2020-01', 5_000],
    ['2027-04', 10_000],
  ] as const)
    await server.store.tenants.setMargin('org_test', { fromMonth, basisPoints }, byTest)
  await changeRules(server.gateway, {
    walletId: server.wallet,
    change: { tenantsSee: 'price' },
    by: byTest,
  })
  return { server, token }
}

test('a line of a batch is told at the price of the month that it counts in, also when it is sent in the next one', async () => {
  let skewMs = Date.parse('2027-03-31T23:50:00Z') - Date.now()
  const { server, token } = await startDearer(() => Date.now() + skewMs)
  let isBusy = true
  server.answerWith(() => {
    if (!isBusy) return completion('in April')
    isBusy = false
    skewMs += 15 * 60_000
    return Response.json({ error: { message: 'busy' } }, { status: 429, headers: { 'retry-after': '1' } })
  })
  const input_file_id = await server.upload(token, [chatLine(1)])
  const asked = { input_file_id, endpoint: '/v1/chat/completions', completion_window: '24h' } as const
  const { id } = await server.client(token).batches.create(asked)
  const batch = await server.ended(token, id)
  const line = (await server.results(token, batch.output_file_id)).get('line-1')
  const { data } = await jsonOf(
    await server.get('/v1/usage?group_by=month&from=2027-03-01&to=2027-04-02', token),
  )
  expect(data.rows.map((row: any) => [row.month, row.cost_usd])).toEqual([['2027-03', 0.00009]])
  const claims = JSON.parse(Buffer.from(line.receipt.split('.')[1], 'base64url').toString())
  const again = await jsonOf(await server.get(`/v1/receipts/${line.response.request_id}`, token))
  const call = await jsonOf(await server.get(`/v1/calls/${line.response.request_id}`, token))
  expect(line.response.body.usage.cost).toBe(0.00009)
  expect([claims.cost.amount, again.claims.cost.amount]).toEqual(['0.00009', '0.00009'])
  expect((call.data ?? call).cost_usd).toBe(0.00009)
  expect(batch).toMatchObject({ cost_usd: 0.00009 })
  await stopSound(server, { stop: async () => undefined })
})

test('what began in a month is told at its price, also when it ends in the next one or is read later', async () => {
  let at = Date.parse('2027-03-31T23:00:00Z')
  const { server, token } = await startDearer(() => at)
  const input_file_id = await server.upload(token, [chatLine(1)])
  const asked = { input_file_id, endpoint: '/v1/chat/completions', completion_window: '24h' } as const
  const { id } = await server.client(token).batches.create(asked)
  expect(await server.ended(token, id)).toMatchObject({ cost_usd: 0.00009 })
  server.answerWith(() => {
    at = Date.parse('2027-04-01T00:00:01Z')
    return completion('over midnight')
  })
  const answer = await server.post('/v1/chat/completions', chat({ max_tokens: 9 }), {}, token)
  expect(answer.headers.get('x-cost-usd')).toBe('0.00009')
  const call = await jsonOf(await server.get(`/v1/calls/${answer.headers.get('x-request-id')}`, token))
  expect((call.data ?? call).cost_usd).toBe(0.00009)
  expect(await server.client(token).batches.retrieve(id)).toMatchObject({ cost_usd: 0.00009 })
  await stopSound(server, { stop: async () => undefined })
})
