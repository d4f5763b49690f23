/** Tenants of resellers: their keys, the reseller's prices by month, and read-only links, each change with its event. */
import type { Key, KeyId } from '../../tenancy/key.ts'
import { keyOf } from '../accounts/key-row.ts'
import { clockOf } from '../engine/clock.ts'
import { integer, maybe, rowsOf, text } from '../engine/columns.ts'
import { type Engine, once, type Value } from '../engine/engine.ts'
import { textOf } from '../engine/row.ts'
import { recordIn } from '../people/event-store.ts'
import { walletsOnly } from '../reports/account-lines.ts'
import { keysOfTenant } from '../reports/call-lines.ts'
import type { TenantKey, TenantMargin, TenantStore } from './tenant-port.ts'

const notes = rowsOf({ reference: maybe(text('reference')), tenantId: maybe(text('tenant_id')) })
const margins = rowsOf({
  tenantId: text('tenant_id'),
  fromMonth: text('from_month'),
  basisPoints: maybe(integer('basis_points')),
})
const links = rowsOf({
  id: text('id'),
  orgId: text('org_id'),
  tenantId: text('tenant_id'),
  madeBy: text('made_by'),
  createdAt: integer('created_at'),
})

/**
 * The key directly below the reseller's: it, or the first key of its chain of rotations, is the tenant, whatever is
 * below it.
 */
const topOf = ({ id, ancestors }: Key): KeyId => ancestors.at(-2) ?? id

const keysOf = async (
  engine: Engine,
  { orgId, tenantId }: { readonly orgId: string; readonly tenantId?: KeyId },
): Promise<readonly TenantKey[]> => {
  const params: Value[] = [orgId]
  if (tenantId !== undefined) params.push(tenantId)
  const rows = await once(
    engine,
    'control',
    `select k.*, o.reference, o.tenant_id from api_key k left join key_note o on o.key_id = k.id
       where k.org_id = $1 and k.parent_id is not null
         ${tenantId === undefined ? '' : `and k.id in (${keysOfTenant('$2')})`} order by k.created_at, k.id`,
    ...params,
  )
  const keys = rows.map(keyOf)
  const noted = new Map(rows.map((row, at) => [keys[at]?.id, notes.read(row)]))
  return keys.map((key): TenantKey => {
    const top = topOf(key)
    const { tenantId: first, reference } = noted.get(top) ?? {}
    return { key, tenantId: first ?? top, ...(reference === undefined ? {} : { reference }) }
  })
}

const goOn = async (
  engine: Engine,
  { orgId, tenantId, month }: Parameters<TenantStore['goOn']>[0],
): Promise<boolean> => {
  const ofOne = tenantId === undefined ? '' : `and k.id in (${keysOfTenant('$3')})`
  const text = `select f.call_id from api_key k join lease l on l.key_id = k.id and l.state <> 'closed'
      join inflight f on f.lease_id = l.id
    where k.org_id = $1 and k.parent_id is not null and l.month = $2 ${ofOne} limit 1`
  const rows = await once(
    engine,
    'control',
    text,
    orgId,
    month,
    ...(tenantId === undefined ? [] : [tenantId]),
  )
  return rows.length > 0
}

const marginOf = (row: Parameters<typeof margins.read>[0]): TenantMargin => {
  const { tenantId, ...margin } = margins.read(row)
  return { ...margin, ...(tenantId === '' ? {} : { tenantId }) }
}

const marginsOf = async (engine: Engine, orgId: string): Promise<readonly TenantMargin[]> => {
  const rows = await once(
    engine,
    'control',
    'select * from tenant_margin where org_id = $1 order by from_month, tenant_id',
    orgId,
  )
  return rows.map(marginOf)
}

const nameOf = async (engine: Engine, orgId: string): Promise<string> => {
  const [first] = await once(
    engine,
    'control',
    `select a.name from account a where a.org_id = $1 and ${walletsOnly} order by a.created_at, a.id limit 1`,
    orgId,
  )
  return first === undefined ? orgId : textOf(first, 'name')
}

const setMarginOn =
  (engine: Engine): TenantStore['setMargin'] =>
  async (orgId, { tenantId = '', fromMonth, basisPoints }, by) => {
    await engine.transaction('control', async (run) => {
      const own = [orgId, tenantId, fromMonth]
      const [before] = await run(
        'select basis_points from tenant_margin where org_id = $1 and tenant_id = $2 and from_month <= $3 order by from_month desc limit 1',
        own,
      )
      await run(
        `insert into tenant_margin (org_id, tenant_id, from_month, basis_points) values ($1, $2, $3, $4)
         on conflict (org_id, tenant_id, from_month) do update set basis_points = excluded.basis_points`,
        [...own, basisPoints ?? null],
      )
      // Heartbeats read changed rules, and with them what tenants are told.
      await run(
        `update wallet_rules set version = version + 1, changed_at = ${engine.dialect.now}
         where wallet_id in (select a.id from account a where a.org_id = $1)`,
        [orgId],
      )
      const shown = (points: number | undefined) => ({
        margin_percent: points === undefined ? null : points / 100,
      })
      await recordIn(run, engine.dialect, {
        actor: by,
        orgId,
        what: 'tenant.price_set',
        subject: tenantId === '' ? 'all tenants' : tenantId,
        ...(before?.basis_points == null ? {} : { before: shown(Number(before.basis_points)) }),
        after: { ...shown(basisPoints), from_month: fromMonth },
      })
    })
    return clockOf(engine)
  }

const makeLinkOn =
  (engine: Engine): TenantStore['makeLink'] =>
  ({ id, hash, orgId, tenantId, madeBy }, by) =>
    engine.transaction('control', async (run) => {
      await run(
        `insert into tenant_link (id, hash, org_id, tenant_id, made_by, created_at) values ($1, $2, $3, $4, $5, ${engine.dialect.now})`,
        [id, hash, orgId, tenantId, madeBy],
      )
      await recordIn(run, engine.dialect, {
        actor: by,
        orgId,
        what: 'tenant.link_made',
        subject: tenantId,
        after: { link: id },
      })
    })

const endLinkOn =
  (engine: Engine): TenantStore['endLink'] =>
  ({ id, orgId, tenantId }, by) =>
    engine.transaction('control', async (run) => {
      const ended = await run(
        'delete from tenant_link where id = $1 and org_id = $2 and tenant_id = $3 returning id',
        [id, orgId, tenantId],
      )
      if (ended.length === 0) return false
      await recordIn(run, engine.dialect, {
        actor: by,
        orgId,
        what: 'tenant.link_revoked',
        subject: tenantId,
        before: { link: id },
      })
      return true
    })

export const tenantStore = (engine: Engine): TenantStore => ({
  keys: (of) => keysOf(engine, of),
  goOn: (of) => goOn(engine, of),
  margins: (orgId) => marginsOf(engine, orgId),
  pricing: async (orgId) => ({ margins: await marginsOf(engine, orgId), name: await nameOf(engine, orgId) }),
  setMargin: setMarginOn(engine),
  links: async ({ orgId, tenantId }) => {
    const rows = await once(
      engine,
      'control',
      'select * from tenant_link where org_id = $1 and tenant_id = $2 order by created_at, id',
      orgId,
      tenantId,
    )
    return rows.map(links.read)
  },
  linkByHash: async (hash) =>
    (await once(engine, 'control', 'select * from tenant_link where hash = $1', hash)).map(links.read)[0],
  makeLink: makeLinkOn(engine),
  endLink: endLinkOn(engine),
})
