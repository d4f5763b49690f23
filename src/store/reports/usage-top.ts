/** Use by time, of the most expensive keys and of all keys: one statement, so that both show the same moment. */
import { binding, type Engine, once } from '../engine/engine.ts'
import {
  type Counted,
  nothingCounted,
  type ReportLine,
  type ReportQuery,
  type ReportStore,
  type UsageGroup,
} from './report-port.ts'
import { counted } from './roll-up.ts'
import { grouped, lineIn, named } from './usage-lines.ts'
import { byLedger, summed, unsummed } from './usage-source.ts'

const added = (sum: Counted, line: Counted, sign: 1 | -1 = 1): Counted => ({
  requests: sum.requests + sign * line.requests,
  inputTokens: sum.inputTokens + sign * line.inputTokens,
  outputTokens: sum.outputTokens + sign * line.outputTokens,
  cachedTokens: sum.cachedTokens + sign * line.cachedTokens,
  cacheWriteTokens: sum.cacheWriteTokens + sign * line.cacheWriteTokens,
  cacheSaved: sum.cacheSaved + BigInt(sign) * line.cacheSaved,
  amount: sum.amount + BigInt(sign) * line.amount,
})

/** So the rows add up to one total, without a sum for any key that is not shown. */
export const usageTop = async (
  engine: Engine,
  { slot, ...rest }: Parameters<ReportStore['usageTop']>[0],
): ReturnType<ReportStore['usageTop']> => {
  const { params, bind } = binding()
  const by = (...groupBy: readonly UsageGroup[]): ReportQuery => ({ ...rest, groupBy })
  const [ofKey, ofBoth, ofAll] = [by('key'), by(slot, 'key'), by(slot)]
  const most = 'select m.id from most m'
  // What is not rolled up costs a look for each key, so it is read once for all three.
  const tail = unsummed(engine, ofBoth, bind)
  const used = (query: ReportQuery, only: readonly string[] = []) =>
    [...(byLedger(ofBoth) ? [] : summed(query, bind, only)), 'select * from tail u'].join(' union all ')
  const keys = grouped(ofKey, used(ofKey), bind)
  const both = grouped(ofBoth, `${used(ofBoth, [`k.id in (${most})`])} where u.key_id in (${most})`, bind)
  const slots = `${both} union all select a.g_${slot}, '' as g_key, ${counted.map((name) => `a.${name}`).join(', ')} from (${grouped(ofAll, used(ofAll), bind)}) a`
  const rows = await once(
    engine,
    'reading',
    `with tail as materialized (${tail}),
         most as materialized (select g.g_key as id from (${keys}) g order by g.amount desc, g.g_key limit ${bind(rest.most)})
       ${named(['key'], slots, `y.amount desc, y.g_${slot}, y.g_key`)}`,
    ...params,
  )
  const lines = rows.map(lineIn(ofBoth))
  const ofAllKeys = lines.filter(({ groups }) => groups.key === '')
  const shown = lines.filter(({ groups }) => groups.key !== '')
  const sums = new Map<string | undefined, Counted>()
  for (const line of shown)
    sums.set(line.groups[slot], added(sums.get(line.groups[slot]) ?? nothingCounted, line))
  const others = ofAllKeys.flatMap((line): ReportLine[] => {
    const rest = added(line, sums.get(line.groups[slot]) ?? nothingCounted, -1)
    return rest.requests === 0 && rest.amount === 0n ? [] : [{ groups: line.groups, ...rest }]
  })
  return {
    rows: [...shown, ...others],
    total: ofAllKeys.reduce((sum, line) => added(sum, line), nothingCounted),
  }
}
