/** Who spends: the keys that ask for loans, the keys above them, and the counters that a loan counts against. */
import type { Nano } from '../../core/money.ts'
import { DAY_MS, type Day, dayOf, type Instant, type Month, nextDayStart } from '../../core/time.ts'
import {
  capPeriods,
  dayScope,
  keyScope,
  monthOfDay,
  periodEnd,
  scopesOf,
  tagScope,
} from '../../ledger/scopes.ts'
import type { AccountId, LoanRequest } from '../../ledger/types.ts'
import { isKnown, type Key, type KeyId, placeOf } from '../../tenancy/key.ts'
import type { CapName, Limits } from '../../tenancy/limits.ts'
import { keyOf } from '../accounts/key-row.ts'
import type { Row, Run, SqlDialect } from '../engine/engine.ts'
import { countOf, textOf } from '../engine/row.ts'
import { lockTagBudgets, type PathBudgets } from './tag-budgets.ts'

/** A day's counter is kept this long after its day, for calls that are settled late and for reports. */
export const DAY_KEPT_MS = 40 * DAY_MS
/** That of a key's day or week, or of a tag's value, is kept after it for calls that are settled late: as long as their leases. */
const KEY_DAY_KEPT_MS = 8 * DAY_MS

/** Who spends, when, from which account, in which sub-wallet and under which budgets of tags. */
export type SpendingKey = {
  readonly key: Key
  readonly makers: readonly Key[]
  /** The account that pays. */
  readonly payer: AccountId
  readonly now: Instant
  readonly day: Day
  readonly month: Month
  readonly sub: string | undefined
  /** What its calls are for, of what is under budget; and a digest of that, by which its lease is found. */
  readonly tags?: string
  readonly tagsDigest?: string
  readonly tagged?: PathBudgets
}

/**
 * Locks the keys and the keys above them, whose caps bind them too. Returns who spends for each request; undefined if a
 * key is unknown.
 */
export const lockSpenders = async (
  run: Run,
  dialect: SqlDialect,
  requests: readonly LoanRequest[],
): Promise<readonly (SpendingKey | undefined)[]> => {
  const { each, lock, now, oneOf } = dialect
  const read = async () => {
    const rows = await run(
      `select n.key_id as of_key, k.*, ${now} as now from api_key k join key_line n on n.owner_id = k.id
       where ${oneOf('n.key_id', `select e.value->>'k' from ${each('$1')} e`)} order by k.id${lock('k')}`,
      [JSON.stringify(requests.map(({ keyId }) => ({ k: keyId })))],
    )
    return { rows, lines: Map.groupBy(rows, (row) => textOf(row, 'of_key')) }
  }
  const seen = await read()
  // A rotation for which the locks waited put another key into the line. Now that they are held, none can.
  const { rows, lines } = [...seen.lines].every(isWhole) ? seen : await read()
  // One instant for all of them: the first that was read.
  const [first] = rows
  const spenders = requests.map((request) =>
    first === undefined
      ? undefined
      : spenderOf(request, lines.get(request.keyId) ?? [], countOf(first, 'now')),
  )
  return requests.some(({ tags }) => tags !== undefined) ? withBudgets(run, dialect, spenders) : spenders
}

/** The tenant whose call it is: the key right below one of the account, whichever of its values by rotation. */
const tenantOf = ({ key, makers }: SpendingKey): KeyId | undefined => {
  const id = [key.id, ...key.ancestors].at(-2)
  const tenant = [key, ...makers].find((one) => one.id === id)
  return tenant === undefined ? undefined : placeOf(tenant)
}

/** The same with the budgets of their tags, which are locked after all keys. */
const withBudgets = async (
  run: Run,
  dialect: SqlDialect,
  spenders: readonly (SpendingKey | undefined)[],
): Promise<readonly (SpendingKey | undefined)[]> => {
  const asked = spenders.flatMap((spender) =>
    spender?.tags === undefined
      ? []
      : [{ spender, walletId: spender.key.walletId, tags: spender.tags, tenant: tenantOf(spender) }],
  )
  const found = await lockTagBudgets(run, dialect, asked)
  const tagged = new Map(asked.map(({ spender }, at) => [spender, found[at]]))
  return spenders.map((spender) => {
    const its = spender && tagged.get(spender)
    return its === undefined ? spender : { ...(spender as SpendingKey), tagged: its }
  })
}

/** Whether these are the rows of all keys that a key names above itself. */
const isWhole = ([id, line]: readonly [KeyId, readonly Row[]]): boolean => {
  const own = line.find((row) => textOf(row, 'id') === id)
  return own !== undefined && keyOf(own).above.length === line.length - 1
}

/** Short enough for an index, and tells nothing of an end user. */
const digestOf = (tags: string): string => new Bun.CryptoHasher('sha256').update(tags).digest('base64url')

const spenderOf = (
  { keyId, sub, payer, tags }: LoanRequest,
  line: readonly Row[],
  now: Instant,
): SpendingKey | undefined => {
  const keys = line.map(keyOf)
  const key = keys.find(({ id }) => id === keyId)
  if (key === undefined || !isKnown(key, now)) return undefined
  const day = dayOf(now)
  return {
    key,
    makers: keys.filter(({ id }) => id !== keyId),
    payer: payer ?? key.walletId,
    now,
    day,
    month: monthOfDay(day),
    sub: sub ?? key.subWallet,
    ...(tags === undefined ? {} : { tags, tagsDigest: digestOf(tags) }),
  }
}

/** The scopes of the counters that its calls move, sorted. */
export const scopesUnder = (spender: SpendingKey): readonly string[] => {
  const { key, day, sub } = spender
  return scopesOf({
    line: [key.id, ...key.above],
    walletId: key.walletId,
    day,
    sub,
    tagBudgets: tagBudgetsOf(spender).map(({ id }) => id),
  })
}

/** The budgets that its calls count under, beside those of its keys and its sub-wallet. */
export const tagBudgetsOf = ({ tagged }: SpendingKey): PathBudgets['budgets'] => tagged?.budgets ?? []

/** The counters of a key's caps at this instant, in the form in which they are made, each with its cap. */
export const countersOfKey = ({ id, walletId, limits }: Key, now: Instant) =>
  capCounters({ o: id, w: walletId }, limits, now)

/** The counters that it needs, in the form in which missing ones are made. */
export const countersOf = (spender: SpendingKey) => {
  const { key, makers, day, now } = spender
  return [
    ...[key, ...makers].flatMap((one) => countersOfKey(one, now)),
    ...tagBudgetsOf(spender).flatMap((budget) => capCounters({ t: budget.id, w: key.walletId }, budget, now)),
    { s: dayScope(key.walletId, day), day, w: key.walletId, k: nextDayStart(now) + DAY_KEPT_MS },
  ]
}

/** Whose caps are counted: a key's, or those of a tag's budget. */
type Capped = { readonly w: string } & ({ readonly o: KeyId } | { readonly t: string })

/** The counters of all its caps, which count for it now. */
const capCounters = (whose: Capped, caps: Pick<Limits, CapName>, now: Instant) =>
  capPeriods(dayOf(now)).map(({ cap, column, period }) => ({
    ...whose,
    cap,
    s: 'o' in whose ? keyScope(whose.o, period) : tagScope(whose.t, period),
    l: caps[cap]?.toString(),
    ...(column === undefined ? {} : { [column]: period }),
    // A key's months are kept for its reports; there are many more values of tags.
    ...(column === undefined || (column === 'month' && 'o' in whose)
      ? {}
      : { k: periodEnd(column, now) + KEY_DAY_KEPT_MS }),
  }))

export type Stop = { readonly owner: KeyId; readonly stopAt: Nano }

/** What the key and the keys above it want to stay in the wallet; nothing when another account pays. */
export const stopsOf = ({ key, makers, payer }: SpendingKey): readonly Stop[] =>
  payer === key.walletId
    ? [key, ...makers].flatMap(({ id, limits: { stopAt } }) =>
        stopAt === undefined ? [] : [{ owner: id, stopAt }],
      )
    : []
