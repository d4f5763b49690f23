/** Invoices of a reseller: closed once under numbers without gaps, stored as they were, taken back, paid. On both engines. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { extractText, getDocumentProxy } from 'unpdf'
import { DAY_MS, monthOf, nextMonthStart } from '../../src/core/time.ts'
import { batchInstance } from '../../src/ledger/types.ts'
import { serverEngines } from '../store/engines.ts'
import { batchOf, CENT } from '../store/world.ts'
import { LOGO, PROFILE, type Reseller, startReseller, value } from './bill-rig.ts'
import { startConsole } from './rig.ts'

const cents = (text: string): bigint => BigInt(text.replace('.', ''))
const sum = (all: readonly bigint[]) => all.reduce((one, more) => one + more, 0n)

type Shown = Record<string, any>

/** What a tenant owes in cents, worked out a second time from what the ledger charged: one model, so one line. */
const owed = (charged: bigint) => {
  const billed = (charged * 120n + 99n) / 100n
  const scaled = billed * 123_456_789_000_000n
  const net = (scaled * 2n + 10n ** 16n) / (2n * 10n ** 16n)
  return { net, total: net + (net * 19n * 2n + 100n) / 200n }
}

for (const engine of serverEngines)
  describe(engine.name, () => {
    let it: Reseller
    let closed: Shown[]
    beforeAll(async () => {
      it = await startReseller(engine, 20)
    })
    afterAll(() => it.stop())

    const close = (more: object = {}) => it.owner.ask('POST', '/bills', { month: '2026-10', ...more })
    const list = async (query = '') => (await value(it.owner.ask('GET', `/bills${query}`))).data as Shown[]
    const get = (id: string) => value(it.owner.ask('GET', `/bills/${id}`)) as Promise<Shown>
    const pdf = async (id: string) =>
      Buffer.from((await value(it.owner.ask('GET', `/bills/${id}/pdf`))).base64, 'base64')
    const file = async (query: string) =>
      Buffer.from((await value(it.owner.ask('GET', `/bills-file?${query}`))).base64, 'base64')

    test('a month is closed when it is over, and somebody bills it', async () => {
      const present = monthOf(Date.now())
      const early = await value(close({ month: present }), 409)
      expect(early.error.code).toBe('not_ready')
      expect(early.error.message).toContain(new Date(nextMonthStart(Date.now()) + 7_200_000).toISOString())
      const [tenant, other] = it.tenants
      // A line of a batch, on its last day at its vendor.
      const instance = batchInstance('late')
      const line = { callId: 'late line', leaseId: 'late' }
      const [need, want] = [CENT, CENT]
      const asked = {
        instance,
        keyId: tenant?.id ?? '',
        leaseId: 'late',
        need,
        want,
        useful: 1n,
        ttlMs: 7 * DAY_MS,
      }
      expect((await it.store.ledger.lend(asked)).outcome).toBe('lent')
      await it.store.ledger.commit(batchOf(instance, { intents: [{ ...line, hold: CENT }] }))
      it.november()
      const isWhole = async (query = '') =>
        (await value(it.owner.ask('GET', `/statement?month=2026-10${query}`))).complete
      expect([await isWhole(), await isWhole(`&tenant=${tenant?.id}`)]).toEqual([false, false])
      expect(await isWhole(`&tenant=${other?.id}`)).toBe(true)
      expect((await value(close(), 409)).error.message).toContain('lines of a batch')
      await it.store.ledger.commit(batchOf(instance, { voids: [line.callId] }))
      expect(await isWhole()).toBe(true)
      expect((await value(close(), 409)).error.message).toContain('no billing profile')
      for (const [wrong, param] of [
        [{ prefix: 'R1' }, 'prefix'],
        [{ currency: 'EUROS' }, 'currency'],
        [{ usd_rate: '0' }, 'usd_rate'],
        [{ currency: 'USD' }, 'usd_rate'],
        [{ taxes: [{ name: 'VAT', percent: 19.00001 }] }, 'taxes.0.percent'],
        [{ address: 'one\n\ntwo' }, 'address'],
        [{ logo: 'AAAA' }, 'logo'],
        [{ logo: `${LOGO.slice(0, 60)}AAAA` }, 'logo'],
        [{ name: '' }, 'name'],
      ] as const) {
        const refused = await value(it.owner.ask('PUT', '/biller', { ...PROFILE, ...wrong }), 400)
        expect([wrong, refused.error.param]).toEqual([wrong, param])
      }
      const set = await value(it.owner.ask('PUT', '/biller', { ...PROFILE, logo: LOGO }))
      expect(set).toEqual({ ...PROFILE, logo: LOGO })
      expect(await value(it.owner.ask('GET', '/biller'))).toEqual({ profile: set })
      const billing = { name: 'Žižek Ltd', address: '1 Main St\nPraha', email: 'ap@tenant.example' }
      const { id } = it.tenants[0] ?? { id: '' }
      expect(await value(it.owner.ask('PUT', `/tenants/${id}/billing`, billing))).toEqual(billing)
    })

    test('two processes that close at once give 20 numbers without a gap, and each invoice its ledger’s sum', async () => {
      const lasting = it.url.startsWith('postgres')
      const other = lasting ? await startConsole({ url: it.url, now: it.now, clock: it.clock }) : undefined
      const again = other === undefined ? it.owner : await other.visit('second@example.com', 'owner')
      const answers = await Promise.all([
        close(),
        again.ask('POST', '/bills', { month: '2026-10' }),
        close(),
        again.ask('POST', '/bills', { month: '2026-10', tenant: it.tenants[7]?.id }),
      ])
      const all = (await Promise.all(answers.map((one) => value(Promise.resolve(one))))).flatMap(
        ({ data }) => data,
      )
      await other?.stop()
      expect(all.filter(({ outcome }) => outcome === 'closed').length).toBe(20)
      expect(all.filter(({ outcome }) => outcome === 'was_closed').length).toBe(41)
      closed = (await list()).toReversed()
      expect(closed.map(({ number }) => number)).toEqual(
        Array.from({ length: 20 }, (_, at) => `GS-${String(at + 1).padStart(4, '0')}`),
      )
      for (const bill of closed) {
        const { lines, taxes, ...shown } = await get(bill.id)
        const { net, total } = owed(it.charged.get(bill.label) ?? 0n)
        expect([bill.label, cents(shown.net), cents(shown.total)]).toEqual([bill.label, net, total])
        expect(sum(lines.map(({ amount }: Shown) => cents(amount)))).toBe(net)
        expect(net + sum(taxes.map(({ amount }: Shown) => cents(amount)))).toBe(total)
        expect(bill).toMatchObject({ status: 'open', overdue: true, currency: 'EUR', month: '2026-10' })
        expect(Date.parse(bill.due_at) - Date.parse(bill.issued_at)).toBe(14 * 86_400_000)
      }
      const { data } = await value(it.owner.ask('GET', '/events?limit=500'))
      expect(data.filter(({ what }: Shown) => what === 'bill.closed').length).toBe(20)
    })

    test('an invoice stays as it was closed, whatever changes later', async () => {
      const one = closed.find(({ label }) => label === 'Tenant 1') ?? {}
      const [before, drawn] = [await get(one.id), await pdf(one.id)]
      await it.owner.ask('PUT', '/tenants/price', { margin_percent: 90, from_month: '2026-10' })
      await it.owner.ask('PUT', '/biller', {
        ...PROFILE,
        name: 'Other',
        usd_rate: '2',
        prefix: 'X-',
        logo: null,
      })
      await it.owner.ask('PUT', `/tenants/${one.tenant}/billing`, { name: 'Moved', address: 'Elsewhere' })
      expect((await value(close({ tenant: one.tenant }))).data[0]).toMatchObject({ outcome: 'was_closed' })
      expect(await get(one.id)).toEqual(before)
      expect((await pdf(one.id)).equals(drawn)).toBe(true)
      const { text } = await extractText(await getDocumentProxy(new Uint8Array(drawn)), { mergePages: true })
      const group = (amount: string) => amount.replace(/\B(?=(\d{3})+\.)/g, ',')
      for (const said of [
        `Invoice ${one.number}`,
        'Größe & Söhne GmbH',
        'Łódzka 5',
        'Žižek Ltd',
        'mock/small',
        `${group(before.net)} EUR`,
        'VAT 19 %',
        `${group(before.total)} EUR`,
        'Payable until 2026-11-16',
        'Page 1 of 1',
      ])
        expect(text).toContain(said)
      await it.owner.ask('PUT', '/biller', PROFILE)
    })

    test('a credit note takes an invoice back, once, and the month may be closed again', async () => {
      const one = closed[4] ?? {}
      const credit = (reason = 'wrong address') => it.owner.ask('POST', `/bills/${one.id}/credit`, { reason })
      const [note, same] = await Promise.all([value(credit()), value(credit('again'))])
      expect(note).toEqual(same)
      expect(note).toMatchObject({
        number: 'GS-0021',
        kind: 'credit_note',
        status: null,
        credits: one.id,
        total: one.total,
      })
      expect(await get(one.id)).toMatchObject({ status: 'credited', credited_by: note.id })
      expect(
        (await value(it.owner.ask('POST', `/bills/${note.id}/credit`, { reason: 'x' }), 400)).error.param,
      ).toBe('bill')
      const [again] = (await value(close({ tenant: one.tenant }))).data
      expect(again).toMatchObject({
        outcome: 'closed',
        bill: { number: 'GS-0022', month: '2026-10', status: 'open' },
      })
      // By the price of now.
      expect(cents(again.bill.net)).toBeGreaterThan(cents(one.net))
      const { text } = await extractText(await getDocumentProxy(new Uint8Array(await pdf(note.id))), {
        mergePages: true,
      })
      expect(text).toContain(`Takes back invoice ${one.number}\nInvoice date 2026-11-02`)
      expect(text).toContain('Total given back')
    })

    test('payments are noted and withdrawn, and lists have filters and pages', async () => {
      const [one = {}, two = {}] = closed
      const pay = (id: string, body: object) => it.owner.ask('PUT', `/bills/${id}/payment`, body)
      const paid = await value(pay(one.id, { paid: true, paid_on: '2026-11-01', ref: 'bank 7' }))
      expect(paid).toMatchObject({ status: 'paid', paid_at: '2026-11-01T00:00:00.000Z', paid_ref: 'bank 7' })
      // Noted once more, it keeps what is not said anew.
      expect(await value(pay(one.id, { paid: true }))).toEqual(paid)
      await value(pay(two.id, { paid: true }))
      expect(await value(pay(two.id, { paid: false }))).toMatchObject({ status: 'open', paid_at: null })
      const numbers = async (query: string) => (await list(query)).map(({ number }) => number)
      expect(await numbers('?status=paid')).toEqual([one.number])
      expect(await numbers('?status=credited')).toEqual(['GS-0005'])
      expect(await numbers(`?tenant=${closed[4]?.tenant}`)).toEqual(['GS-0022', 'GS-0021', 'GS-0005'])
      expect(await numbers('?month=2026-09')).toEqual([])
      const [last = ''] = (await list('?limit=1&status=open')).map(({ id }) => id)
      expect((await numbers(`?limit=2&after=${last}`)).length).toBe(2)
    })

    test('files for accounting have the same sums', async () => {
      const all = await list('?limit=500')
      const worth = sum(all.map(({ kind, total }) => (kind === 'invoice' ? cents(total) : -cents(total))))
      const [head = '', ...rows] = (await file('form=csv')).toString('utf8').slice(1).trim().split('\r\n')
      const at = head.split(',').indexOf('amount')
      expect(sum(rows.map((row) => cents(row.split(',')[at] ?? '')))).toBe(worth)
      const [header = '', names = '', ...bookings] = (await file('form=datev'))
        .toString('latin1')
        .trim()
        .split('\r\n')
      expect(header).toMatch(
        /^"EXTF";700;21;"Buchungsstapel";13;\d{17};;"RE";"";"";29098;55003;20260101;4;20261102;20261102;/,
      )
      expect(header.split(';').length).toBe(31)
      const fields = bookings.map((row) => row.split(';'))
      expect(new Set([names.split(';').length, ...fields.map(({ length }) => length)])).toEqual(
        new Set([125]),
      )
      expect(
        sum(
          fields.map(([amount = '', side]) => (side === '"S"' ? 1n : -1n) * BigInt(amount.replace(',', ''))),
        ),
      ).toBe(worth)
      expect(fields[0]?.slice(6, 12)).toEqual(['10000', '8400', '""', '0211', '"GS-0001"', '"161126"'])
      const [, ...quick] = (await file('form=quickbooks')).toString('utf8').slice(1).trim().split('\r\n')
      expect(quick.length).toBe(21)
      expect(quick[0]).toStartWith('GS-0001,Žižek Ltd,11/02/2026,11/16/2026,Net 14,')
      expect((await value(it.owner.ask('GET', '/bills-file?form=xml'), 400)).error.param).toBe('form')
    })

    test('a file that would lack invoices is refused, and taxes are added without the faults of floats', async () => {
      const { bills } = it.store
      const { bills: real } = bills
      const [one] = await real({ orgId: 'org_test', most: 1 })
      if (one === undefined) throw new Error('there are no invoices')
      const taxes = [8.1, 0.2].map((percent) => ({ name: 'Tax', percent, amount: '0.00' }))
      const taxed = { ...one, kind: 'invoice' as const, document: { ...one.document, taxes } }
      try {
        Object.assign(bills, { bills: async () => [taxed] })
        expect((await file('form=quickbooks')).toString('utf8')).toContain(',Y,8.3%,EUR')
        Object.assign(bills, { bills: async ({ most }: { most: number }) => Array(most).fill(taxed) })
        const refused = await value(it.owner.ask('GET', '/bills-file?form=csv'), 400)
        expect([refused.error.param, refused.error.message]).toEqual([
          'month',
          expect.stringContaining('at most 10000 invoices'),
        ])
      } finally {
        Object.assign(bills, { bills: real })
      }
    })

    test('a tenant’s link shows its own invoices, and who writes them', async () => {
      await value(it.owner.ask('PUT', '/biller', { ...PROFILE, logo: LOGO }))
      const { tenant = '' } = closed[4] ?? {}
      const { link } = await value(it.owner.ask('POST', `/tenants/${tenant}/links`), 201)
      const headers = { authorization: `Bearer ${link.split('#')[1]}` }
      const ask = (path: string) => it.stranger('GET', path, undefined, headers)
      const shown = await value(ask('/use/bills'))
      expect(shown.seller).toEqual({ name: PROFILE.name, logo: LOGO })
      expect(shown.data.map(({ number }: Shown) => number)).toEqual(['GS-0022', 'GS-0021', 'GS-0005'])
      expect(Object.keys(shown.data[0])).not.toContain('paid_ref')
      const own = await value(ask(`/use/bills/${shown.data[0].id}/pdf`))
      expect(Buffer.from(own.base64, 'base64').equals(await pdf(shown.data[0].id))).toBe(true)
      expect((await ask(`/use/bills/${closed[0]?.id}/pdf`)).status).toBe(404)
      expect((await ask(`/bills/${shown.data[0].id}`)).status).toBe(401)
    })

    test('nobody else sees or changes them', async () => {
      const { id = '' } = closed[0] ?? {}
      const elsewhere = await it.visit('owner@elsewhere.example', 'owner', 'org_elsewhere')
      for (const [method, path, body] of [
        ['GET', `/bills/${id}`],
        ['GET', `/bills/${id}/pdf`],
        ['POST', `/bills/${id}/credit`, { reason: 'mine' }],
        ['PUT', `/bills/${id}/payment`, { paid: true }],
        ['PUT', `/tenants/${it.tenants[0]?.id}/billing`, { name: 'x', address: 'y' }],
      ] as const)
        expect((await elsewhere.ask(method, path, body)).status).toBe(404)
      expect((await value(elsewhere.ask('GET', '/bills'))).data).toEqual([])
      const viewer = await it.visit('viewer@example.com', 'viewer')
      expect((await viewer.ask('GET', '/bills')).status).toBe(403)
      const billing = await it.visit('books@example.com', 'billing')
      expect((await value(billing.ask('PUT', `/bills/${id}/payment`, { paid: true }))).status).toBe('paid')
    })
  })
