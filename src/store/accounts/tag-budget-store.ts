/** Budgets of tags in the database: set, read and taken away. Loans make those that come from a default. */
import type { JsonObject } from '../../core/json-body.ts'
import { decimalFromNano } from '../../core/money.ts'
import { DAY_MS, dayOf } from '../../core/time.ts'
import { capPeriods } from '../../ledger/scopes.ts'
import { capList, limitRows, type Spent } from '../../tenancy/limits.ts'
import { SUB_TAG } from '../../tenancy/tags.ts'
import { clockOf } from '../engine/clock.ts'
import { type Engine, once, type Row, type Run, type SqlDialect, type Value } from '../engine/engine.ts'
import { countOf, nanoOf, onlyRow, textOf } from '../engine/row.ts'
import { heldOnLeases, ofTagBudget, usedOnLeases } from '../ledger/sums.ts'
import { tagBudgets } from '../ledger/tag-budgets.ts'
import type { Actor } from '../people/event-port.ts'
import { recordOfWallet } from '../people/event-store.ts'
import type { NewTagBudget, ShownTagBudget, TagBudgetStore, TagValue } from './tag-budget-port.ts'
import { knownRulesOf } from './wallet-rules-row.ts'
import { lockRules, writeRules } from './wallet-rules-store.ts'

/** How many budgets somebody may set in a wallet, and on how many tags: each call looks for these. */
const MOST = 10_000
const TAGS_MOST = 32

const caps = capList.map(({ column }) => column)

/** Counters of a budget are kept this long after it is taken away, for calls that are settled late. */
const KEPT_MS = 40 * DAY_MS

const shownOf = (row: Row): ShownTagBudget => {
  const { walletId: _wallet, spendCap, monthlyCap, weeklyCap, dailyCap, ...rest } = tagBudgets.read(row)
  const own = { spendCap, monthlyCap, weeklyCap, dailyCap }
  const spent = capList.map(({ column, cap }) => [cap.spent, nanoOf(row, `spent_${column}`)])
  return {
    ...rest,
    caps: Object.fromEntries(Object.entries(own).filter(([, cap]) => cap !== undefined)),
    spent: Object.fromEntries(spent) as Spent,
    held: nanoOf(row, 'held'),
  }
}

/** Budgets `t` with what was spent under them until now. */
const reading = async (
  engine: Engine,
  where: string,
  params: readonly Value[],
): Promise<readonly ShownTagBudget[]> => {
  const its = ofTagBudget('t.id')
  const bound = [...params]
  const spent = capPeriods(dayOf(await clockOf(engine))).map(({ cap, column, period }) => {
    const at = period === undefined ? '' : `$${bound.push(period)}`
    const leases = column === undefined ? its : `${its} and l.${column} = ${at}`
    return `coalesce((select b.used from budget b where b.scope = 'tag:' || t.id${at === '' ? '' : ` || ':' || cast(${at} as text)`}), 0)
      + ${usedOnLeases(leases)} as spent_${limitRows[cap].column}`
  })
  const rows = await once(
    engine,
    'control',
    `select t.*, ${spent.join(', ')}, ${heldOnLeases(its)} as held from tag_budget t where ${where}`,
    ...bound,
  )
  return rows.map(shownOf)
}

/** Counters of these budgets follow their caps. A cap below what is used and held tolerates that much; see the schema. */
const setCounters = async (
  run: Run,
  { lock }: SqlDialect,
  which: string,
  params: readonly Value[],
): Promise<void> => {
  const own = `select t.id from tag_budget t where ${which}`
  await run(
    `select b.scope from budget b where b.tag_budget in (${own}) order by b.scope${lock('b')}`,
    params,
  )
  await run(
    `update budget set tolerated = budget.used + budget.held, lim = case when budget.day is not null then t.daily_cap
       when budget.week is not null then t.weekly_cap when budget.month is not null then t.monthly_cap else t.spend_cap end
     from tag_budget t where budget.tag_budget = t.id and ${which}`,
    params,
  )
}

/** The budgets on which a change to this one bears: itself, and what a default made. */
const concerned = `t.wallet_id = $1 and t.tag = $2 and (t.value = $3 or ($3 = '' and t.made = 1))`

/** Lets every process know which tags are under budget, by the rules of the wallet. */
const changing = async (
  engine: Engine,
  { walletId, tag, value }: TagValue,
  by: Actor,
  work: (
    run: Run,
    params: readonly Value[],
    version: number,
  ) => Promise<{ readonly after: JsonObject | null } | undefined>,
): Promise<number | undefined> =>
  engine.transaction('control', async (run) => {
    const { dialect } = engine
    const row = await lockRules(run, dialect, walletId)
    const params = [walletId, tag, value]
    const { rules, version } = knownRulesOf(row)
    await run(`select t.id from tag_budget t where ${concerned} order by t.id${dialect.lock('t')}`, params)
    const changed = await work(run, params, version + 1)
    if (changed === undefined) return undefined
    const tags = await run('select distinct t.tag from tag_budget t where t.wallet_id = $1 order by t.tag', [
      walletId,
    ])
    const { budgeted: _before, ...others } = rules
    const budgeted = tags.map((one) => textOf(one, 'tag'))
    const now = budgeted.length === 0 ? others : { ...others, budgeted }
    await writeRules(run, dialect, row, { walletId, rules: now, version: version + 1 })
    const what = changed.after === null ? 'budget.removed' : 'budget.set'
    const subject = `${tag}=${value === '' ? '*' : value}`
    await recordOfWallet(run, dialect, {
      by,
      walletId,
      what,
      subject,
      ...(changed.after ? { after: changed.after } : {}),
    })
    return version + 1
  })

const hasRoom = async (run: Run, { walletId, tag, value }: TagValue): Promise<boolean> => {
  const row = onlyRow(
    await run(
      `select cast(count(*) as bigint) as budgets, cast(count(distinct case when t.tag = $2 then null else t.tag end) as bigint) as tags
       from tag_budget t where t.wallet_id = $1 and t.made = 0 and not (t.tag = $2 and t.value = $3)`,
      [walletId, tag, value],
    ),
  )
  return countOf(row, 'budgets') < MOST && countOf(row, 'tags') < TAGS_MOST
}

const put = async (engine: Engine, budget: NewTagBudget, by: Actor) => {
  const { id, caps: own, valuesMax = null, beyond = null } = budget
  const columns = caps.join(', ')
  const set = [...caps, 'made', 'values_max', 'beyond', 'version']
    .map((column) => `${column} = excluded.${column}`)
    .join(', ')
  const after = {
    ...Object.fromEntries(
      capList.map(({ name, member }) => {
        const cap = own[name]
        return [member, cap === undefined ? null : decimalFromNano(cap)]
      }),
    ),
    ...(valuesMax === null ? {} : { values_max: valuesMax, beyond }),
  }
  return changing(engine, budget, by, async (run, params, version) => {
    if (!(await hasRoom(run, budget))) return undefined
    await run(
      `insert into tag_budget (wallet_id, tag, value, id, values_max, beyond, version, ${columns}, made, created_at)
       values ($1, $2, $3, $4, $5, $6, $7, ${capList.map((_cap, at) => `$${at + 8}`).join(', ')}, 0, ${engine.dialect.now})
       on conflict (wallet_id, tag, value) do update set ${set}`,
      [
        ...params,
        id,
        valuesMax,
        beyond,
        Math.max(version, budget.version ?? 0),
        ...capList.map(({ name }) => own[name] ?? null),
      ],
    )
    if (budget.value === '') await followDefault(run, 't.made = 1', budget)
    await setCounters(run, engine.dialect, concerned, params)
    return { after }
  })
}

/** Budgets of a tag take the caps of its default. */
const followDefault = (run: Run, which: string, { walletId, tag, value }: TagValue): Promise<unknown> =>
  run(
    `update tag_budget set made = 1, ${caps.map((column) => `${column} = d.${column}`).join(', ')} from tag_budget d
     where d.wallet_id = $1 and d.tag = $2 and d.value = '' and tag_budget.id in (select t.id from tag_budget t
       where t.wallet_id = $1 and t.tag = $2 and ${which === '' ? 't.value = $3' : which})`,
    which === '' ? [walletId, tag, value] : [walletId, tag],
  )

const remove = (engine: Engine, which: TagValue, by: Actor) =>
  changing(engine, which, by, async (run, params) => {
    const { now } = engine.dialect
    const found = await run(
      `select t.id from tag_budget t where t.wallet_id = $1 and t.tag = $2 and t.value = $3`,
      params,
    )
    if (found.length === 0) return undefined
    if (which.value !== '') await followDefault(run, '', which)
    const kept = await run(
      `select t.id from tag_budget t where t.wallet_id = $1 and t.tag = $2 and t.value = $3 and t.made = 1`,
      params,
    )
    if (kept.length > 0) await setCounters(run, engine.dialect, concerned, params)
    else {
      await run(
        `update budget set lim = null, keep_until = ${now} + ${KEPT_MS} where tag_budget in (select t.id from tag_budget t where ${concerned})`,
        params,
      )
      await run(
        `delete from tag_budget where id in (select t.id from tag_budget t where ${concerned})`,
        params,
      )
    }
    return { after: null }
  })

export const tagBudgetStore = (engine: Engine): TagBudgetStore => ({
  tagBudgets: (walletId, { tag, after = '', most }) =>
    reading(
      engine,
      `t.wallet_id = $1 and t.id in (select i.id from tag_budget i where i.wallet_id = $1 and (i.tag = $2 or ($2 = '' and i.tag <> '${SUB_TAG}'))
         and ($3 = '' or (i.tag, i.value) > (select o.tag, o.value from tag_budget o where o.id = $3))
         order by i.tag, i.value limit $4) order by t.tag, t.value`,
      [walletId, tag ?? '', after, most],
    ),
  tagBudget: async ({ walletId, tag, value }) =>
    (await reading(engine, 't.wallet_id = $1 and t.tag = $2 and t.value = $3', [walletId, tag, value]))[0],
  setIn: async ({ walletId, tag, value }) => {
    const text = 'select t.version from tag_budget t where t.wallet_id = $1 and t.tag = $2 and t.value = $3'
    const [row] = await once(engine, 'control', text, walletId, tag, value)
    return row === undefined ? 0 : countOf(row, 'version')
  },
  putTagBudget: async (budget, by) => {
    const version = await put(engine, budget, by)
    return version === undefined ? 'too_many' : { at: await clockOf(engine), version }
  },
  removeTagBudget: async (which, by) => {
    const version = await remove(engine, which, by)
    return version === undefined ? undefined : { at: await clockOf(engine), version }
  },
})
