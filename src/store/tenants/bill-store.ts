/** Invoices of resellers to their tenants: numbered, stored once, taken back, paid and mailed, each change with its event. */
import type { Json } from '../../core/json-body.ts'
import { DAY_MS, newIdOf } from '../../core/time.ts'
import { integer, json, maybe, oneOf, rowsOf, text } from '../engine/columns.ts'
import { binding, type Engine, once, type Run, runOne, statement, type Value } from '../engine/engine.ts'
import { countOf, onlyRow } from '../engine/row.ts'
import { recordIn } from '../people/event-store.ts'
import type { Bill, BillDocument, Biller, BillQuery, BillStore, TenantBilling } from './bill-port.ts'

// Only this program writes them, from values of these types.
const as = <T>(value: Json): T => value as T

const bills = rowsOf({
  id: text('id'),
  orgId: text('org_id'),
  tenantId: text('tenant_id'),
  serial: integer('serial'),
  number: text('number'),
  kind: oneOf('kind', ['invoice', 'credit_note']),
  month: text('month'),
  document: json('document', as<BillDocument>),
  issuedAt: integer('issued_at'),
  dueAt: integer('due_at'),
  credits: maybe(text('credits')),
  creditedBy: maybe(text('credited_by')),
  paidAt: maybe(integer('paid_at')),
  paidRef: maybe(text('paid_ref')),
  mailedAt: maybe(integer('mailed_at')),
})
const billers = rowsOf({ profile: json('profile', as<Biller>) })
const details = rowsOf({ tenantId: text('tenant_id'), details: json('details', as<TenantBilling>) })

const isSame = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other)

const oneIn = async (run: Run, where: string, ...params: Value[]): Promise<Bill | undefined> =>
  (await run(`select * from bill where ${where}`, params)).map(bills.read)[0]

/**
 * Takes the next number of the organisation and stores the bill under it. The caller has locked the biller and found that
 * the bill is not there yet, so that no number is taken in vain.
 */
const numbered = async (
  run: Run,
  now: string,
  bill: Pick<Bill, 'orgId' | 'tenantId' | 'month' | 'document' | 'kind' | 'credits'>,
): Promise<Bill> => {
  const taken = await run(
    'update biller set numbers = numbers + 1 where org_id = $1 returning numbers, profile',
    [bill.orgId],
  )
  const serial = countOf(onlyRow(taken), 'numbers')
  const { prefix, terms_days: days } = billers.read(onlyRow(taken)).profile
  const id = newIdOf('bill')
  const number = `${prefix}${String(serial).padStart(4, '0')}`
  const due = bill.kind === 'invoice' ? days * DAY_MS : 0
  await runOne(
    run,
    bills.insert('bill', { ...bill, id, serial, number }, { issued_at: now, due_at: `${now} + ${due}` }),
  )
  const made = await oneIn(run, 'id = $1', id)
  if (made === undefined) throw new Error('the bill was not stored')
  return made
}

const locking = (engine: Engine, run: Run, orgId: string) =>
  run(`select b.org_id from biller b where b.org_id = $1${engine.dialect.lock('b')}`, [orgId])

const closeOn =
  (engine: Engine): BillStore['close'] =>
  (bill, by) =>
    engine.transaction('control', async (run) => {
      const { orgId, tenantId, month } = bill
      await locking(engine, run, orgId)
      const where =
        "org_id = $1 and tenant_id = $2 and month = $3 and kind = 'invoice' and credited_by is null"
      const before = await oneIn(run, where, orgId, tenantId, month)
      if (before !== undefined) return { bill: before, made: false }
      const made = await numbered(run, engine.dialect.now, { ...bill, kind: 'invoice' })
      await recordIn(run, engine.dialect, {
        actor: by,
        orgId,
        what: 'bill.closed',
        subject: made.id,
        after: { number: made.number, tenant: tenantId, month, total: made.document.total },
      })
      return { bill: made, made: true }
    })

const creditOn =
  (engine: Engine): BillStore['credit'] =>
  ({ orgId, id, reason }, by) =>
    engine.transaction('control', async (run) => {
      await locking(engine, run, orgId)
      const taken = await oneIn(run, "org_id = $1 and id = $2 and kind = 'invoice'", orgId, id)
      if (taken === undefined) return undefined
      const before = await oneIn(run, 'credits = $1', id)
      if (before !== undefined) return { bill: before, made: false }
      const { tenantId, month, document, number, issuedAt } = taken
      const credits = { number, issued_at: new Date(issuedAt).toISOString(), reason }
      const note = await numbered(run, engine.dialect.now, {
        orgId,
        tenantId,
        month,
        kind: 'credit_note',
        credits: id,
        document: { ...document, credits },
      })
      await run('update bill set credited_by = $2 where id = $1', [id, note.id])
      await recordIn(run, engine.dialect, {
        actor: by,
        orgId,
        what: 'bill.credited',
        subject: id,
        after: { number: note.number, reason },
      })
      return { bill: note, made: true }
    })

const statuses = {
  open: "kind = 'invoice' and credited_by is null and paid_at is null",
  paid: "kind = 'invoice' and credited_by is null and paid_at is not null",
  credited: 'credited_by is not null',
} as const

const listed = ({ orgId, tenantId, month, status, beforeSerial, most }: BillQuery) => {
  const { params, bind } = binding(orgId)
  const where = [
    'org_id = $1',
    ...(tenantId === undefined ? [] : [`tenant_id = ${bind(tenantId)}`]),
    ...(month === undefined ? [] : [`month = ${bind(month)}`]),
    ...(status === undefined ? [] : [statuses[status]]),
    ...(beforeSerial === undefined ? [] : [`serial < ${bind(beforeSerial)}`]),
  ]
  return statement(
    `select * from bill where ${where.join(' and ')} order by serial desc limit ${bind(most)}`,
    ...params,
  )
}

const notePaidOn =
  (engine: Engine): BillStore['notePaid'] =>
  ({ orgId, id, paidAt, ref }, by) =>
    engine.transaction('control', async (run) => {
      await locking(engine, run, orgId)
      const was = await oneIn(run, 'org_id = $1 and id = $2', orgId, id)
      if (was?.paidAt === paidAt && was?.paidRef === ref) return false
      await run('update bill set paid_at = $2, paid_ref = $3 where id = $1', [
        id,
        paidAt ?? null,
        ref ?? null,
      ])
      const shown = (at: number | undefined, as: string | undefined) => ({
        paid_at: at === undefined ? null : new Date(at).toISOString(),
        ref: as ?? null,
      })
      await recordIn(run, engine.dialect, {
        actor: by,
        orgId,
        what: 'bill.paid',
        subject: id,
        before: shown(was?.paidAt, was?.paidRef),
        after: shown(paidAt, ref),
      })
      return true
    })

/** Stores a value under its keys with an event of the change; false if it was there already. */
const putOn =
  (engine: Engine, table: 'biller' | 'tenant_billing', column: string) =>
  (
    orgId: string,
    subject: string,
    value: object,
    by: Parameters<BillStore['putBiller']>[3],
    more?: (run: Run) => Promise<unknown>,
  ) =>
    engine.transaction('control', async (run) => {
      const keys = table === 'biller' ? { org_id: orgId } : { org_id: orgId, tenant_id: subject }
      const names = Object.keys(keys)
      const where = names.map((name, at) => `t.${name} = $${at + 1}`).join(' and ')
      const [row] = await run(
        `select t.${column} as held from ${table} t where ${where}${engine.dialect.lock('t')}`,
        Object.values(keys),
      )
      const before = row === undefined ? undefined : JSON.parse(String(row.held))
      if (isSame(before, value)) return false
      await more?.(run)
      await run(
        `insert into ${table} (${names.join(', ')}, ${column}) values ($1, $2${table === 'biller' ? '' : ', $3'})
         on conflict (${names.join(', ')}) do update set ${column} = excluded.${column}`,
        [...Object.values(keys), JSON.stringify(value)],
      )
      await recordIn(run, engine.dialect, {
        actor: by,
        orgId,
        what: table === 'biller' ? 'biller.put' : 'tenant.billing',
        subject,
        ...(before === undefined ? {} : { before }),
        after: as<Json>(JSON.parse(JSON.stringify(value))),
      })
      return true
    })

const profilesOn = (
  engine: Engine,
): Pick<BillStore, 'biller' | 'putBiller' | 'logo' | 'tenantBillings' | 'putTenantBilling'> => ({
  biller: async (orgId) => {
    const [row] = await once(engine, 'control', 'select profile from biller where org_id = $1', orgId)
    return row === undefined ? undefined : billers.read(row).profile
  },
  putBiller: (orgId, biller, logo, by) =>
    putOn(engine, 'biller', 'profile')(orgId, orgId, biller, by, async (run) => {
      if (logo !== undefined && biller.logo !== undefined)
        await run(
          'insert into biller_logo (org_id, hash, image) values ($1, $2, $3) on conflict (org_id, hash) do nothing',
          [orgId, biller.logo, logo],
        )
    }),
  logo: async (orgId, hash) => {
    const text = 'select image from biller_logo where org_id = $1 and hash = $2'
    const [row] = await once(engine, 'control', text, orgId, hash)
    return row === undefined ? undefined : String(row.image)
  },
  tenantBillings: async (orgId) => {
    const rows = await once(engine, 'control', 'select * from tenant_billing where org_id = $1', orgId)
    return new Map(rows.map(details.read).map((row) => [row.tenantId, row.details]))
  },
  putTenantBilling: (orgId, tenantId, value, by) =>
    putOn(engine, 'tenant_billing', 'details')(orgId, tenantId, value, by),
})

export const billStore = (engine: Engine): BillStore => ({
  ...profilesOn(engine),
  close: closeOn(engine),
  credit: creditOn(engine),
  bill: async ({ orgId, id }) => {
    const text = 'select * from bill where org_id = $1 and id = $2'
    return (await once(engine, 'control', text, orgId, id)).map(bills.read)[0]
  },
  bills: async (query) => (await once(engine, 'control', listed(query))).map(bills.read),
  notePaid: notePaidOn(engine),
  noteMailed: ({ orgId, id, to }, by) =>
    engine.transaction('control', async (run) => {
      await run(`update bill set mailed_at = ${engine.dialect.now} where org_id = $1 and id = $2`, [
        orgId,
        id,
      ])
      await recordIn(run, engine.dialect, {
        actor: by,
        orgId,
        what: 'bill.mailed',
        subject: id,
        after: { to },
      })
    }),
})
