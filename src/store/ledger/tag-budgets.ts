/**
 * Budgets of tags as loans find them: one for each tag of a path whose value has a budget, or gets one from the tag's
 * default when the value is first seen. All processes find the same, because the default's row is locked for that.
 */
import type { LoanRefused } from '../../ledger/types.ts'
import type { WalletId } from '../../tenancy/key.ts'
import { OTHER, tagsOfPath } from '../../tenancy/tags.ts'
import { integer, maybe, nano, oneOf, rowsOf, text, truth } from '../engine/columns.ts'
import type { Run, SqlDialect } from '../engine/engine.ts'

export const tagBudgets = rowsOf({
  id: text('id'),
  walletId: text('wallet_id'),
  tag: text('tag'),
  /** Empty for a default. */
  value: text('value'),
  spendCap: maybe(nano('spend_cap')),
  monthlyCap: maybe(nano('monthly_cap')),
  weeklyCap: maybe(nano('weekly_cap')),
  dailyCap: maybe(nano('daily_cap')),
  /** Made from the default. */
  made: truth('made'),
  valuesMax: maybe(integer('values_max')),
  valuesMade: integer('values_made'),
  beyond: maybe(oneOf('beyond', ['refuse', 'other'])),
})
type TagBudget = ReturnType<typeof tagBudgets.read>

/** The budgets of a path, or the value that gets none because its tag has no more. */
export type PathBudgets = {
  readonly budgets: readonly TagBudget[]
  readonly full?: NonNullable<LoanRefused['budget']>
}

type Pair = {
  readonly walletId: WalletId
  readonly tag: string
  readonly value: string
  readonly tenant?: string | undefined
}

const nameOf = ({ walletId, tag, value }: Pair): string => JSON.stringify([walletId, tag, value])

const byName = (rows: readonly TagBudget[]): ReadonlyMap<string, TagBudget> =>
  new Map(rows.map((row) => [nameOf(row), row]))

/** Reads the budgets of the pairs, in the order of their ids; locked if `lock` says how. */
const read = async (
  run: Run,
  { each }: SqlDialect,
  pairs: readonly Pair[],
  lock = '',
): Promise<readonly TagBudget[]> => {
  const of = (member: string) => `e.value->>'${member}'`
  const rows = await run(
    `select t.* from tag_budget t where t.id in (select b.id from ${each('$1')} e join tag_budget b
       on b.wallet_id = ${of('w')} and b.tag = ${of('t')} and b.value = ${of('v')}) order by t.id${lock}`,
    [JSON.stringify(pairs.map(({ walletId: w, tag: t, value: v }) => ({ w, t, v })))],
  )
  return rows.map(tagBudgets.read)
}

/**
 * The same, but a tenant's values are its own: what two tenants call by one name has a budget each from the default, unless
 * the account has set one on that name, which is for all.
 */
const apart = async (
  run: Run,
  dialect: SqlDialect,
  paths: readonly (readonly Pair[])[],
): Promise<readonly (readonly Pair[])[]> => {
  const ofTenants = paths.flat().filter(({ tenant }) => tenant !== undefined)
  if (ofTenants.length === 0) return paths
  const set = byName((await read(run, dialect, ofTenants)).filter(({ made }) => !made))
  return paths.map((path) =>
    path.map((pair) =>
      pair.tenant === undefined || set.has(nameOf(pair))
        ? pair
        : { ...pair, value: `${pair.tenant}/${pair.value}` },
    ),
  )
}

/** The budgets of each path, locked so that their caps stay what they are. */
export const lockTagBudgets = async (
  run: Run,
  dialect: SqlDialect,
  asked: readonly {
    readonly walletId: WalletId
    readonly tags: string
    readonly tenant?: string | undefined
  }[],
): Promise<readonly PathBudgets[]> => {
  const said = asked.map(({ tags, ...whose }) =>
    tagsOfPath(tags).map(([tag, value]): Pair => ({ ...whose, tag, value })),
  )
  const paths = await apart(run, dialect, said)
  const pairs = paths.flat()
  const without = await makeMissing(run, dialect, pairs)
  const others = pairs.map((pair) => ({ ...pair, value: OTHER }))
  const rows = byName(await read(run, dialect, [...pairs, ...others], dialect.lock('t')))
  return paths.map((path) => {
    const full = path.flatMap((pair) => {
      const its = without.get(nameOf(pair))
      return its?.beyond === 'refuse'
        ? [{ ...pair, period: 'life' as const, valuesMax: its.valuesMax ?? 0 }]
        : []
    })[0]
    if (full !== undefined) return { budgets: [], full }
    return {
      budgets: path.flatMap(
        (pair) => rows.get(nameOf(without.has(nameOf(pair)) ? { ...pair, value: OTHER } : pair)) ?? [],
      ),
    }
  })
}

/** Makes the budgets that defaults are for. Returns the default of each pair that it has none for any more. */
const makeMissing = async (
  run: Run,
  dialect: SqlDialect,
  pairs: readonly Pair[],
): Promise<ReadonlyMap<string, TagBudget>> => {
  const defaults = pairs.map((pair) => ({ ...pair, value: '' }))
  const seen = byName(await read(run, dialect, [...pairs, ...defaults]))
  const lacking = new Map(
    pairs
      .filter((pair) => !seen.has(nameOf(pair)) && seen.has(nameOf({ ...pair, value: '' })))
      .map((pair) => [nameOf(pair), pair]),
  )
  const without = new Map<string, TagBudget>()
  if (lacking.size === 0) return without
  const missing = [...lacking.values()]
  const locked = await read(
    run,
    dialect,
    missing.map((pair) => ({ ...pair, value: '' })),
    dialect.lock('t'),
  )
  const made = byName(await read(run, dialect, missing))
  for (const it of locked) {
    const own = missing.filter(
      (pair) => nameOf({ ...pair, value: '' }) === nameOf(it) && !made.has(nameOf(pair)),
    )
    const room = Math.max((it.valuesMax ?? 0) - it.valuesMade, 0)
    const fit = own.slice(0, room)
    const rest = own.slice(room)
    for (const pair of rest) without.set(nameOf(pair), it)
    await makeFrom(run, dialect, it, [
      ...fit.map(({ value }) => value),
      ...(rest.length > 0 && it.beyond === 'other' ? [OTHER] : []),
    ])
    await run('update tag_budget set values_made = values_made + $2 where id = $1', [it.id, fit.length])
  }
  return without
}

/** Makes budgets of these values with the caps of their default, which is locked; those that exist stay as they are. */
const makeFrom = async (
  run: Run,
  { each, now }: SqlDialect,
  { id }: TagBudget,
  values: readonly string[],
): Promise<void> => {
  await run(
    `insert into tag_budget (id, wallet_id, tag, value, spend_cap, monthly_cap, weekly_cap, daily_cap, made, created_at)
     select e.value->>'i', t.wallet_id, t.tag, e.value->>'v', t.spend_cap, t.monthly_cap, t.weekly_cap, t.daily_cap, 1, ${now}
     from ${each('$2')} e join tag_budget t on t.id = $1 where true on conflict (wallet_id, tag, value) do nothing`,
    [id, JSON.stringify(values.map((v) => ({ i: idOf(id, v), v })))],
  )
}

/** The id of a budget that is made from a default: there is never a second one of the same default and value. */
const idOf = (from: string, value: string): string =>
  `bud_${new Bun.CryptoHasher('sha256').update(`${from} ${value}`).digest('hex').slice(0, 32)}`
