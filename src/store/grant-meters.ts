/** What a grant looks at: the key with its makers, and under their locks the lease and every limit in money. */
import { greatest, least, type Nano } from '../core/money.ts'
import { DAY_MS, type Day, dayOf, type Instant, type Month, nextDayStart } from '../core/time.ts'
import type { Meter } from '../ledger/grant.ts'
import { dayScope, lifetimeScope, monthOfDay, monthScope, scopesOf } from '../ledger/scopes.ts'
import type { AccountId, GrantAsk } from '../ledger/words.ts'
import { isKnown, type Key, type KeyId } from '../tenancy/key.ts'
import type { Row, Run, Words } from './engine.ts'
import { keyOf } from './key-row.ts'
import { freeOf, isPayment, payers } from './payer.ts'
import { countOf, maybeNano, nanoOf, onlyRow, textOf } from './row.ts'

/** A day's counter is kept this long after its day, for calls that are settled late and for reports. */
export const DAY_KEPT_MS = 40 * DAY_MS

/** Who spends, when, out of which account and under which sub-wallet. */
export type Line = {
  readonly key: Key
  readonly makers: readonly Key[]
  /** The account that pays. */
  readonly account: AccountId
  readonly now: Instant
  readonly day: Day
  readonly month: Month
  readonly sub: string | undefined
}

/** Locks the key and its makers, whose caps bind it too. */
export const lockLine = async (
  run: Run,
  words: Words,
  { keyId, sub, account }: GrantAsk,
): Promise<Line | undefined> => {
  const rows = await run(
    `select k.*, ${words.now} as now from api_key k join key_line n on n.owner_id = k.id
     where n.key_id = $1 order by k.id${words.lock('k')}`,
    [keyId],
  )
  const keys = rows.map(keyOf)
  const key = keys.find(({ id }) => id === keyId)
  if (key === undefined) return undefined
  const now = countOf(onlyRow(rows), 'now')
  if (!isKnown(key, now)) return undefined
  const day = dayOf(now)
  return {
    key,
    makers: keys.filter(({ id }) => id !== keyId),
    account: account ?? key.walletId,
    now,
    day,
    month: monthOfDay(day),
    sub: sub ?? key.subWallet,
  }
}

const budgetsOf = ({ key, makers, day, month, now }: Line): string =>
  JSON.stringify([
    ...[key, ...makers].flatMap(({ id, walletId, limits }) => [
      { s: lifetimeScope(id), o: id, w: walletId, l: limits.spendCap?.toString() },
      { s: monthScope(id, month), o: id, m: month, w: walletId, l: limits.monthlyCap?.toString() },
    ]),
    { s: dayScope(key.walletId, day), d: day, w: key.walletId, k: nextDayStart(now) + DAY_KEPT_MS },
  ])

export type Locked = {
  readonly lease: Row | undefined
  readonly budgets: readonly Row[]
  /** Absent for a credit line that was never granted. */
  readonly account: Row | undefined
  /** Room of the own lease that no open call holds. */
  readonly ownUnused: Nano
  /** What open calls hold of the own lease and have not written yet. */
  readonly unwritten: Nano
  /** Room of the own lease that the instance does not have: on its way back, or granted in an answer that was lost. */
  readonly astray: Nano
  /** What leases of the account used and is not folded into its balance yet. */
  readonly unfolded: Nano
  /** The same for each scope that has a limit. */
  readonly unfoldedUnder: ReadonlyMap<string, Nano>
  readonly now: Instant
}

const usedBy = (keys: string, which: string): string =>
  `(select coalesce(cast(sum(l.used) as bigint), 0) from lease l where l.state <> 'closed' and l.key_id in (${keys}) and ${which})`
const ofWallet = 'select k.id from api_key k where k.wallet_id = b.wallet_id'
const ofOwner = 'select n.key_id from key_line n where n.owner_id = b.owner_id'

/** What leases used under each limited scope and is not folded into it yet. */
const unfoldedUnder = (each: string): string => `select b.scope,
    case when b.owner_id is not null then ${usedBy(ofOwner, '(b.month is null or l.month = b.month)')}
      when b.sub_id is not null then ${usedBy(ofWallet, 'l.sub_id = b.sub_id')}
      else ${usedBy(ofWallet, 'l.day = b.day')} end as unfolded
  from budget b where b.lim is not null and b.scope in (select e.value->>'s' from ${each} e)`

/** Locks the own lease, the budgets and the account that pays, in one round trip. */
export const lockMeters = async (run: Run, words: Words, ask: GrantAsk, line: Line): Promise<Locked> => {
  const { key, day, account, sub } = line
  const path = [ask.instance, key.id, day, account, sub ?? '']
  const scopes = scopesOf({ line: [key.id, ...key.ancestors], walletId: key.walletId, day, sub })
  const own = `l.instance = $1 and l.key_id = $2 and l.day = $3 and l.wallet_id = $4
    and coalesce(l.sub_id, '') = $5 and l.state = 'open'`
  const wanted = JSON.stringify(scopes.map((s) => ({ s })))
  const [leases, , budgets, accounts, sums, unfolded] = await Promise.all([
    run(`select l.* from lease l where ${own}${words.lock('l')}`, path),
    run(
      `insert into budget (scope, owner_id, month, day, keep_until, wallet_id, lim)
       select e.value->>'s', e.value->>'o', e.value->>'m', e.value->>'d', cast(e.value->>'k' as bigint), e.value->>'w',
         case when e.value->>'d' is null then cast(e.value->>'l' as bigint)
           else (select r.daily_limit from wallet_rules r where r.wallet_id = e.value->>'w') end
       from ${words.each('$1')} e where true order by 1 on conflict (scope) do nothing`,
      [budgetsOf(line)],
    ),
    run(
      `select b.* from budget b where b.scope in (select e.value->>'s' from ${words.each('$1')} e)
       order by b.scope${words.lock('b')}`,
      [wanted],
    ),
    run(`${payers} where a.id = $1${words.lock('a')}`, [account]),
    run(
      `select ${words.now} as now,
         (select coalesce(cast(sum(f.hold) as bigint), 0) from inflight f join lease l on l.id = f.lease_id
          where ${own}) as own_held,
         (select coalesce(cast(sum(l.used) as bigint), 0) from lease l where l.wallet_id = $4 and l.state <> 'closed') as unfolded`,
      path,
    ),
    run(unfoldedUnder(words.each('$1')), [wanted]),
  ])
  if (budgets.length !== scopes.length) throw new Error(`sub-wallet ${sub} of key ${key.id} has no budget`)
  const sum = onlyRow(sums)
  return {
    lease: leases[0],
    budgets,
    account: accounts[0],
    ...ownRoomOf(leases[0], nanoOf(sum, 'own_held'), ask),
    unfolded: nanoOf(sum, 'unfolded'),
    unfoldedUnder: new Map(unfolded.map((row) => [textOf(row, 'scope'), nanoOf(row, 'unfolded')])),
    now: countOf(sum, 'now'),
  }
}

/** The own lease, as the ledger and the instance know it together: intents that are on their way count as written. */
const ownRoomOf = (
  lease: Row | undefined,
  written: Nano,
  ask: GrantAsk,
): Pick<Locked, 'ownUnused' | 'unwritten' | 'astray'> => {
  if (lease === undefined) return { ownUnused: 0n, unwritten: 0n, astray: 0n }
  const { held: told = 0n, free = 0n } = textOf(lease, 'id') === ask.leaseId ? ask : {}
  const leased = nanoOf(lease, 'granted') - nanoOf(lease, 'used')
  const held = greatest(written, least(told, leased))
  const ownUnused = leased - held
  return { ownUnused, unwritten: held - written, astray: greatest(ownUnused - free, 0n) }
}

/** What the key and its makers want to stay in the wallet; nothing when something else pays. */
const stopsOf = ({ key, makers, account }: Line): readonly { owner: KeyId; stopAt: Nano }[] =>
  account === key.walletId
    ? [key, ...makers].flatMap(({ id, limits: { stopAt } }) =>
        stopAt === undefined ? [] : [{ owner: id, stopAt }],
      )
    : []

/**
 * The least that the limits beside the account leave, less the room that the instance has on its own lease; undefined
 * when there is no such limit. Charges count, and what is only held does not.
 */
export const besideOf = (locked: Locked, account: Row, line: Line): Nano | undefined => {
  const settled = nanoOf(account, 'balance') - locked.unfolded
  const lefts = [
    ...stopsOf(line).map(({ stopAt }) => settled - stopAt),
    ...locked.budgets.flatMap((row) => {
      const lim = maybeNano(row, 'lim')
      if (lim === undefined) return []
      return [lim - nanoOf(row, 'used') - (locked.unfoldedUnder.get(textOf(row, 'scope')) ?? 0n)]
    }),
  ]
  if (lefts.length === 0) return undefined
  const { lease, astray } = locked
  const own = lease === undefined ? 0n : nanoOf(lease, 'granted') - nanoOf(lease, 'used') - astray
  return lefts.reduce(least) - own
}

export const metersOf = ({ budgets }: Locked, account: Row, line: Line): readonly Meter[] => {
  const free = freeOf(account)
  const capped = budgets.flatMap((row): readonly Meter[] => {
    const lim = maybeNano(row, 'lim')
    if (lim === undefined) return []
    const scope = textOf(row, 'scope')
    const room = lim - nanoOf(row, 'used') - nanoOf(row, 'held')
    if (row.sub_id !== null) return [{ limit: 'sub_wallet', room, scope, lim }]
    if (row.day !== null) return [{ limit: 'daily_limit_usd', room, scope, lim }]
    const owner = textOf(row, 'owner_id')
    return [{ limit: row.month === null ? 'spend_cap_usd' : 'monthly_cap_usd', room, scope, lim, owner }]
  })
  const ofWallet = line.account === line.key.walletId
  const stops = stopsOf(line).map(
    ({ owner, stopAt }): Meter => ({ limit: 'stop_at_remaining_usd', room: free - stopAt, owner }),
  )
  const limit = isPayment(account) ? 'payment' : ofWallet ? 'wallet' : 'credit_line'
  return [{ limit, room: free }, ...stops, ...capped]
}
