/** How many calls were refused or failed, by key and code, from the counters of the journal of outcomes. */
import { DAY_MS } from '../../core/time.ts'
import { integer, rowsOf, text } from '../engine/columns.ts'
import { type Engine, once, statement, type Value } from '../engine/engine.ts'
import { type Bind, orgsTest, scopeTests } from './call-lines.ts'
import type { FailureLine, FailureQuery } from './call-port.ts'

const lines = rowsOf({
  keyId: text('key_id'),
  label: text('label'),
  code: text('code'),
  calls: integer('calls'),
})

export const failureLines = async (engine: Engine, query: FailureQuery): Promise<readonly FailureLine[]> => {
  const params: Value[] = []
  const bind: Bind = (value) => `$${params.push(value)}`
  const { from, codes, most } = query
  const tests = [
    `f.day >= ${bind(Math.floor(from / DAY_MS) * DAY_MS)}`,
    ...orgsTest('f', query.orgs, bind),
    ...scopeTests(query, bind),
    ...(codes === undefined ? [] : [`f.code in (${codes.map(bind).join(', ')})`]),
  ]
  const rows = await once(
    engine,
    'reading',
    statement(
      `select f.key_id, k.label, f.code, cast(sum(f.calls) as bigint) as calls
       from failed_day f join api_key k on k.id = f.key_id left join key_note o on o.key_id = k.id
       where ${tests.join(' and ')} group by f.key_id, k.label, f.code order by calls desc, f.key_id, f.code limit ${bind(most)}`,
      ...params,
    ),
  )
  return rows.map(lines.read)
}
