/** Credentials of the operator's machines; each change with its event. */
import type { Json } from '../../core/json-body.ts'
import { integer, json, maybe, rowsOf, text, truth } from '../engine/columns.ts'
import { type Engine, once, type Row, type Run, statement } from '../engine/engine.ts'
import { onlyRow } from '../engine/row.ts'
import type { Actor } from './event-port.ts'
import { recordIn } from './event-store.ts'
import { HOUSE, type Machine, type MachineStore } from './machine-port.ts'

const texts = (list: Json): readonly string[] =>
  Array.isArray(list) ? list.filter((one) => typeof one === 'string') : []

const machines = rowsOf({
  id: text('id'),
  label: text('label'),
  prefix: text('prefix'),
  rights: json('rights', texts),
  orgs: maybe(json('orgs', texts)),
  addresses: maybe(json('addresses', texts)),
  rpm: integer('rpm'),
  expiresAt: maybe(integer('expires_at')),
  revoked: truth('revoked'),
  createdAt: integer('created_at'),
  hashedBy: maybe(text('hashed_by')),
  version: integer('version'),
})

const listText = (list: readonly string[] | undefined) => (list === undefined ? null : JSON.stringify(list))

export const machineStore = (engine: Engine): MachineStore => {
  const { dialect } = engine
  const record = (run: Run, what: string, { id, label, rights }: Machine, actor: Actor) =>
    recordIn(run, dialect, {
      actor,
      orgId: HOUSE,
      what: `machine.${what}`,
      subject: id,
      after: { label, rights },
    })
  const change = (id: string, set: string, what: string, by: Actor, ...params: readonly (string | null)[]) =>
    engine.transaction('control', async (run) => {
      const rows = await run(
        `update machine set ${set}, version = version + 1 where id = $1 and revoked = 0 returning *`,
        [id, ...params],
      )
      const [row] = rows
      if (row === undefined) return undefined
      const machine = machines.read(row)
      await record(run, what, machine, by)
      return machine
    })
  return {
    create: (it, by) =>
      engine.transaction('control', async (run) => {
        await run(
          `insert into machine (id, hash, label, prefix, rights, orgs, addresses, rpm, expires_at, hashed_by, revoked, created_at, version)
           values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 0, ${dialect.now}, 1)`,
          [
            it.id,
            it.hash,
            it.label,
            it.prefix,
            JSON.stringify(it.rights),
            listText(it.orgs),
            listText(it.addresses),
            it.rpm,
            it.expiresAt ?? null,
            it.hashedBy ?? null,
          ],
        )
        const row: Row = onlyRow(await run('select * from machine where id = $1', [it.id]))
        const machine = machines.read(row)
        await record(run, 'created', machine, by)
        return machine
      }),
    byHash: async (hash, before = hash) => {
      const found = statement('select * from machine where hash in ($1, $2)', hash, before)
      return (await once(engine, 'control', found)).map(machines.read)[0]
    },
    rehash: async (id, { before, hash, hashedBy }) => {
      const text = 'update machine set hash = $3, hashed_by = $4 where id = $1 and hash in ($2, $3)'
      await once(engine, 'control', text, id, before, hash, hashedBy ?? null)
    },
    list: async () =>
      (await once(engine, 'control', 'select * from machine order by created_at desc, id desc')).map(
        machines.read,
      ),
    rotate: (id, { hash, hashedBy, prefix }, by) =>
      change(id, 'hash = $2, prefix = $3, hashed_by = $4', 'rotated', by, hash, prefix, hashedBy ?? null),
    revoke: (id, by) => change(id, 'revoked = 1', 'revoked', by),
  }
}
