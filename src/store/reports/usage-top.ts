/** Use by time, of the most expensive keys and of all keys: one statement, so that both show the same moment. */
import { type Engine, once, statement, type Value } from '../engine/engine.ts'
import type { Bind } from './call-lines.ts'
import type { ReportLine, ReportQuery, ReportStore, UsageGroup } from './report-port.ts'
import { grouped, lineIn } from './usage-lines.ts'
import { counted, summed, unsummed } from './usage-source.ts'

export const usageTop = async (
  engine: Engine,
  { slot, ...rest }: Parameters<ReportStore['usageTop']>[0],
): ReturnType<ReportStore['usageTop']> => {
  const params: Value[] = []
  const bind: Bind = (value) => `$${params.push(value)}`
  const by = (...groupBy: readonly UsageGroup[]): ReportQuery => ({ ...rest, groupBy })
  const [ofKey, ofBoth, ofAll] = [by('key'), by(slot, 'key'), by(slot)]
  const most = 'select m.id from most m'
  // What is not rolled up costs a look for each key, so it is read once for all three.
  const tail = unsummed(engine, ofBoth, bind)
  const keys = grouped(ofKey, `${summed(ofKey, bind)} union all select * from tail`, bind)
  const some = { keys: [`k.id in (${most})`] }
  const both = `${summed(ofBoth, bind, some)} union all select * from tail u where u.key_id in (${most})`
  const all = grouped(ofAll, `${summed(ofAll, bind)} union all select * from tail`, bind)
  const rows = await once(
    engine,
    'reading',
    statement(
      `with tail as materialized (${tail}),
         most as materialized (select g.g_key as id from (${keys}) g order by g.amount desc, g.g_key limit ${bind(rest.most)})
       select y.*, k.label, o.reference from (
         ${grouped(ofBoth, both, bind)}
         union all select a.g_${slot}, '' as g_key, ${counted.map((name) => `a.${name}`).join(', ')} from (${all}) a) y
       left join api_key k on k.id = y.g_key left join key_note o on o.key_id = k.id
       order by y.amount desc, y.g_${slot}, y.g_key`,
      ...params,
    ),
  )
  const lines = rows.map(lineIn(ofBoth))
  const isOfAll = ({ groups }: ReportLine) => groups.key === ''
  return { keys: lines.filter((line) => !isOfAll(line)), all: lines.filter(isOfAll) }
}
