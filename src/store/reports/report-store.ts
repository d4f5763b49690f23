/** Reports of the console: its keys, calls, use and movements, each one query. */

import { DAY_MS } from '../../core/time.ts'
import { integer, rowsOf, text } from '../engine/columns.ts'
import { binding, type Engine, once } from '../engine/engine.ts'
import { noReplica, type Replica } from '../engine/replica.ts'
import { countOf, onlyRow, textOf } from '../engine/row.ts'
import { accountLines, walletsOnly } from './account-lines.ts'
import { batchLines } from './batch-lines.ts'
import { orgsTest, scopeTests } from './call-lines.ts'
import { callPage } from './call-page.ts'
import type { FailureLine, FailureQuery, Scope } from './call-port.ts'
import { keyLines, keysAround } from './key-lines.ts'
import { movementsOf } from './movements.ts'
import { giftLine, processLines } from './process-lines.ts'
import type { ReportStore } from './report-port.ts'
import { forgetRollUps, rollUp } from './roll-up.ts'
import { usageAndTotal, usageLines } from './usage-lines.ts'
import { usageTop } from './usage-top.ts'

const lines = rowsOf({
  keyId: text('key_id'),
  label: text('label'),
  code: text('code'),
  calls: integer('calls'),
})

const failureLines = async (engine: Engine, query: FailureQuery): Promise<readonly FailureLine[]> => {
  const { params, bind } = binding()
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
    `select f.key_id, k.label, f.code, cast(sum(f.calls) as bigint) as calls
       from failed_day f join api_key k on k.id = f.key_id left join key_note o on o.key_id = k.id
       where ${tests.join(' and ')} group by f.key_id, k.label, f.code order by calls desc, f.key_id, f.code limit ${bind(most)}`,
    ...params,
  )
  return rows.map(lines.read)
}

/** A replica answers what may lag, while it follows closely. */
export const reportStore = (engine: Engine, replica: Replica = noReplica(engine)): ReportStore => {
  const by = ({ mayLag }: Scope): Engine => (mayLag === true ? replica.engine : engine)
  return {
    keys: (query) => keyLines(engine, query),
    keysAround: (query) => keysAround(engine, query),
    calls: (query) => callPage(by(query), query),
    keysIn: async (scope) => {
      const { params, bind } = binding()
      const tests = scopeTests(scope, bind)
      const rows = await once(
        engine,
        'reading',
        `select count(*) as n from api_key k left join key_note o on o.key_id = k.id
         where ${['1 = 1', ...tests].join(' and ')}`,
        ...params,
      )
      return countOf(onlyRow(rows), 'n')
    },
    batches: (query) => batchLines(engine, query),
    failures: (query) => failureLines(by(query), query),
    usage: (query) => usageLines(by(query), query),
    usageTop: (query) => usageTop(by(query), query),
    usageAndTotal: (query) => usageAndTotal(by(query), query),
    movements: (query) => movementsOf(engine, query),
    accounts: (query) => accountLines(engine, query),
    processes: () => processLines(engine),
    gifts: () => giftLine(engine),
    walletsOf: async (orgId) => {
      const rows = await once(
        engine,
        'control',
        `select a.id from account a where a.org_id = $1 and ${walletsOnly} order by a.created_at, a.id`,
        orgId,
      )
      return rows.map((row) => textOf(row, 'id'))
    },
    rollUp: () => rollUp(engine),
    forgetRollUps: () => forgetRollUps(engine),
    replicaLagMs: replica.lagMs,
  }
}
