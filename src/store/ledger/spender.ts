/** Who spends: the keys that ask for loans, the keys above them, and the counters that a loan counts against. */
import type { Nano } from '../../core/money.ts'
import { DAY_MS, type Day, dayOf, type Instant, type Month, nextDayStart } from '../../core/time.ts'
import { capPeriods, dayScope, keyScope, monthOfDay, scopesOf } from '../../ledger/scopes.ts'
import type { AccountId, LoanRequest } from '../../ledger/types.ts'
import { isKnown, type Key, type KeyId } from '../../tenancy/key.ts'
import { keyOf } from '../accounts/key-row.ts'
import type { Row, Run, SqlDialect } from '../engine/engine.ts'
import { countOf, textOf } from '../engine/row.ts'

/** A day's counter is kept this long after its day, for calls that are settled late and for reports. */
export const DAY_KEPT_MS = 40 * DAY_MS
/** That of a key's day or week is kept after it for calls that are settled late: as long as their leases. */
const KEY_DAY_KEPT_MS = 8 * DAY_MS

/** Who spends, when, from which account and in which sub-wallet. */
export type SpendingKey = {
  readonly key: Key
  readonly makers: readonly Key[]
  /** The account that pays. */
  readonly payer: AccountId
  readonly now: Instant
  readonly day: Day
  readonly month: Month
  readonly sub: string | undefined
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
  return requests.map((request) =>
    first === undefined
      ? undefined
      : spenderOf(request, lines.get(request.keyId) ?? [], countOf(first, 'now')),
  )
}

/** Whether these are the rows of all keys that a key names above itself. */
const isWhole = ([id, line]: readonly [KeyId, readonly Row[]]): boolean => {
  const own = line.find((row) => textOf(row, 'id') === id)
  return own !== undefined && keyOf(own).above.length === line.length - 1
}

const spenderOf = (
  { keyId, sub, payer }: LoanRequest,
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
  }
}

/** The scopes of the counters that its calls move, sorted. */
export const scopesUnder = ({ key, day, sub }: SpendingKey): readonly string[] =>
  scopesOf({ line: [key.id, ...key.above], walletId: key.walletId, day, sub })

/** Until when the counter of a key's day or week is kept, that holds this instant. */
const keptUntil = (now: Instant, period: 'day' | 'week'): Instant =>
  nextDayStart(now) + (period === 'week' ? 6 * DAY_MS : 0) + KEY_DAY_KEPT_MS

/** The counters of a key's caps at this instant, in the form in which they are made, each with its cap. */
export const countersOfKey = ({ id, walletId, limits }: Key, now: Instant) =>
  capPeriods(dayOf(now)).map(({ cap, column, period }) => ({
    cap,
    s: keyScope(id, period),
    o: id,
    w: walletId,
    l: limits[cap]?.toString(),
    ...(column === undefined ? {} : { [column]: period }),
    ...(column === 'day' || column === 'week' ? { k: keptUntil(now, column) } : {}),
  }))

/** The counters that it needs, in the form in which missing ones are made. */
export const countersOf = ({ key, makers, day, now }: SpendingKey) => [
  ...[key, ...makers].flatMap((one) => countersOfKey(one, now)),
  { s: dayScope(key.walletId, day), day, w: key.walletId, k: nextDayStart(now) + DAY_KEPT_MS },
]

export type Stop = { readonly owner: KeyId; readonly stopAt: Nano }

/** What the key and the keys above it want to stay in the wallet; nothing when another account pays. */
export const stopsOf = ({ key, makers, payer }: SpendingKey): readonly Stop[] =>
  payer === key.walletId
    ? [key, ...makers].flatMap(({ id, limits: { stopAt } }) =>
        stopAt === undefined ? [] : [{ owner: id, stopAt }],
      )
    : []
