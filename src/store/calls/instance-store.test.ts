/** A silent process with open leases stays known: that it is silent is what ends them. */
import { expect, test } from 'bun:test'
import { once } from '../engine/engine.ts'
import { deleteExpired } from '../engine/expire.ts'
import { openSqlite } from '../engine/sqlite.ts'
import { expiredInstances } from './instance-store.ts'

test('a process that is silent for long is forgotten when none of its leases is open', async () => {
  const engine = openSqlite(':memory:')
  for (const text of [
    'create table instance (id text primary key, beat_at bigint not null)',
    'create table lease (id text primary key, instance text not null, state text not null)',
    "insert into instance values ('lives', 99000000), ('ended', 0), ('holds', 0)",
    "insert into lease values ('a', 'ended', 'closed'), ('b', 'holds', 'open')",
  ])
    await once(engine, 'control', text)
  await deleteExpired(engine, [expiredInstances('100000000')])
  const left = await once(engine, 'control', 'select id from instance order by id')
  expect(left).toEqual([{ id: 'holds' }, { id: 'lives' }])
  await engine.close()
})
