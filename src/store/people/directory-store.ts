/** Users and groups of organisations' directories, who is in which group, and what groups give. */
import { isObject, type Json, type JsonObject } from '../../core/json-body.ts'
import { integer, json, maybe, oneOf, rowsOf, text, truth } from '../engine/columns.ts'
import { type Engine, once, type Run, statement } from '../engine/engine.ts'
import { textOf } from '../engine/row.ts'
import {
  type DirectoryStore,
  type GroupRule,
  type Resource,
  type ResourceChange,
  resourceKinds,
} from './directory-port.ts'
import type { Actor } from './event-port.ts'
import { recordIn } from './event-store.ts'

const asAttributes = (value: Json): JsonObject => (isObject(value) ? value : {})

const rows = rowsOf({
  id: text('id'),
  kind: oneOf('kind', resourceKinds),
  name: text('name'),
  personId: maybe(text('person_id')),
  active: truth('active'),
  attributes: json('attributes', asAttributes),
  createdAt: integer('created_at'),
  changedAt: integer('changed_at'),
  version: integer('version'),
})
const memberRows = rowsOf({ groupId: text('group_id'), userId: text('user_id') })

type Place = { readonly orgId: string; readonly id: string }

const setMembers = async (run: Run, { orgId, id }: Place, members: readonly string[]): Promise<void> => {
  const rows = await run('select user_id from scim_member where group_id = $1', [id])
  const before = new Set(rows.map((row) => textOf(row, 'user_id')))
  const wanted = new Set(members)
  for (const gone of before.difference(wanted))
    await run('delete from scim_member where group_id = $1 and user_id = $2', [id, gone])
  for (const user of wanted.difference(before))
    await run(
      `insert into scim_member (group_id, user_id) select $1, u.id from scim_resource u
       where u.id = $2 and u.org_id = $3 and u.kind = 'User'`,
      [id, user, orgId],
    )
}

/** Whether another resource of its kind has the name. */
const isTaken = async (run: Run, { orgId, id }: Place, kind: string, name: string): Promise<boolean> =>
  (
    await run('select id from scim_resource where org_id = $1 and kind = $2 and name = $3 and id <> $4', [
      orgId,
      kind,
      name,
      id,
    ])
  ).length > 0

const change =
  (engine: Engine): DirectoryStore['changeResource'] =>
  (place, version, { name, active, attributes, members }: ResourceChange, by) =>
    engine.transaction('control', async (run) => {
      const { dialect } = engine
      const { orgId, id } = place
      const [found] = await run(
        `select r.* from scim_resource r where r.id = $1 and r.org_id = $2${dialect.lock('r')}`,
        [id, orgId],
      )
      if (found === undefined) return undefined
      const before = rows.read(found)
      if (before.version !== version) return undefined
      if (await isTaken(run, place, before.kind, name)) return 'taken'
      const [row] = await run(
        `update scim_resource set name = $2, active = $3, attributes = $4, changed_at = ${dialect.now}, version = version + 1
         where id = $1 returning *`,
        [id, name, active ? 1 : 0, JSON.stringify(attributes)],
      )
      if (members !== undefined) await setMembers(run, place, members)
      await recordIn(run, dialect, {
        actor: by,
        orgId,
        what: before.kind === 'User' ? 'directory.user_changed' : 'directory.group_changed',
        subject: id,
        after: { name, ...(before.kind === 'User' ? { active } : {}) },
      })
      return row === undefined ? undefined : rows.read(row)
    })

const create =
  (engine: Engine): DirectoryStore['createResource'] =>
  ({ orgId, id, kind, name, active, attributes, members = [] }, by) =>
    engine.transaction('control', async (run) => {
      const { dialect } = engine
      const [row] = await run(
        `insert into scim_resource (id, org_id, kind, name, active, attributes, created_at, changed_at, version)
         values ($1, $2, $3, $4, $5, $6, ${dialect.now}, ${dialect.now}, 1)
         on conflict (org_id, kind, name) do nothing returning *`,
        [id, orgId, kind, name, active ? 1 : 0, JSON.stringify(attributes)],
      )
      if (row === undefined) return undefined
      await setMembers(run, { orgId, id }, members)
      const what = kind === 'User' ? 'directory.user_added' : 'directory.group_added'
      await recordIn(run, dialect, { actor: by, orgId, what, subject: id, after: { name } })
      return rows.read(row)
    })

const remove = (engine: Engine, { orgId, id }: Place, by: Actor): Promise<Resource | undefined> =>
  engine.transaction('control', async (run) => {
    const [row] = await run('delete from scim_resource where id = $1 and org_id = $2 returning *', [
      id,
      orgId,
    ])
    if (row === undefined) return undefined
    const gone = rows.read(row)
    const what = gone.kind === 'User' ? 'directory.user_removed' : 'directory.group_removed'
    const before = { name: gone.name }
    await recordIn(run, engine.dialect, { actor: by, orgId, what, subject: id, before })
    return gone
  })

export const directoryStore = (engine: Engine): DirectoryStore => ({
  createResource: create(engine),
  changeResource: change(engine),
  deleteResource: (place, by) => remove(engine, place, by),
  resources: async ({ orgId, kind, name, id }) => {
    const asked = `select * from scim_resource where org_id = $1 and kind = coalesce($2, kind) and name = coalesce($3, name)
      and id = coalesce($4, id) order by created_at, id`
    const wanted = statement(asked, orgId, kind ?? null, name ?? null, id ?? null)
    return (await once(engine, 'control', wanted)).map(rows.read)
  },
  groupMembers: async (orgId, of) => {
    const asked = `select m.* from scim_member m join scim_resource g on g.id = m.group_id
      where g.org_id = $1 and (cast($2 as text) is null or m.group_id = $2 or m.user_id = $2) order by m.group_id, m.user_id`
    return (await once(engine, 'control', asked, orgId, of ?? null)).map(memberRows.read)
  },
  notePerson: async ({ orgId, id }, personId) => {
    const asked = `update scim_resource set person_id = $3 where id = $2 and org_id = $1
      and not exists (select 1 from scim_resource o where o.org_id = $1 and o.person_id = $3 and o.id <> $2) returning id`
    return (await once(engine, 'control', asked, orgId, id, personId)).length > 0
  },
  groupRule: async (orgId) => {
    const [row] = await once(engine, 'control', 'select rule from group_rule where org_id = $1', orgId)
    return row === undefined ? undefined : (JSON.parse(textOf(row, 'rule')) as GroupRule)
  },
  setGroupRule: (orgId, rule, by) =>
    engine.transaction('control', async (run) => {
      await run(
        'insert into group_rule (org_id, rule) values ($1, $2) on conflict (org_id) do update set rule = excluded.rule',
        [orgId, JSON.stringify(rule)],
      )
      const after = JSON.parse(JSON.stringify(rule)) as Json
      await recordIn(run, engine.dialect, {
        actor: by,
        orgId,
        what: 'group_rule.changed',
        subject: orgId,
        after,
      })
    }),
})
