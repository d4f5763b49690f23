/**
 * What a loan depends on: the key with the keys above it and, under their locks, the lease and every limit in money.
 */
import { greatest, least, type Nano } from '../../core/money.ts'
import { DAY_MS, type Day, dayOf, type Instant, type Month, nextDayStart } from '../../core/time.ts'
import type { Limit } from '../../ledger/lend.ts'
import { dayScope, lifetimeScope, monthOfDay, monthScope, scopesOf } from '../../ledger/scopes.ts'
import type { AccountId, LoanRequest } from '../../ledger/types.ts'
import { isKnown, type Key, type KeyId } from '../../tenancy/key.ts'
import { keyOf } from '../accounts/key-row.ts'
import type { Run, Words } from '../engine/engine.ts'
import { countOf, nanoOf, onlyRow, textOf } from '../engine/row.ts'
import { type Budget, budgets, type LeaseRow, leases, type PayerRow, payerRows } from './ledger-rows.ts'
import { freeOf, isPayment, payers } from './payer.ts'
import { heldOnLeases, usedOnLeases } from './sums.ts'

/** A day's counter is kept this long after its day, for calls that are settled late and for reports. */
export const DAY_KEPT_MS = 40 * DAY_MS

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

/** Locks the key and the keys above it, whose caps bind it too. */
export const lockSpender = async (
  run: Run,
  words: Words,
  { keyId, sub, payer }: LoanRequest,
): Promise<SpendingKey | undefined> => {
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
    payer: payer ?? key.walletId,
    now,
    day,
    month: monthOfDay(day),
    sub: sub ?? key.subWallet,
  }
}

const budgetsOf = ({ key, makers, day, month, now }: SpendingKey): string =>
  JSON.stringify([
    ...[key, ...makers].flatMap(({ id, walletId, limits }) => [
      { s: lifetimeScope(id), o: id, w: walletId, l: limits.spendCap?.toString() },
      { s: monthScope(id, month), o: id, m: month, w: walletId, l: limits.monthlyCap?.toString() },
    ]),
    { s: dayScope(key.walletId, day), d: day, w: key.walletId, k: nextDayStart(now) + DAY_KEPT_MS },
  ])

export type LockedLimits = {
  readonly lease: LeaseRow | undefined
  readonly budgets: readonly Budget[]
  /** Absent for a credit line that the operator never granted. */
  readonly payer: PayerRow | undefined
  /** Room of the own lease that no open call holds. */
  readonly ownUnused: Nano
  /** What open calls hold of the own lease without a written intent yet. */
  readonly unwritten: Nano
  /** Room of the own lease that the instance does not have: being given back, or lent in an answer that was lost. */
  readonly astray: Nano
  /** What the key and the keys above it want to stay in the account. */
  readonly stops: readonly Stop[]
  /**
   * What leases of the account used and its balance does not count yet. Summed only if there are stops, because there
   * may be many leases.
   */
  readonly unapplied: Nano
  /** The same for each scope that has a limit. */
  readonly unappliedUnder: ReadonlyMap<string, Nano>
  readonly now: Instant
}

const ofWallet = 'select k.id from api_key k where k.wallet_id = b.wallet_id'
const ofOwner = 'select n.key_id from key_line n where n.owner_id = b.owner_id'

/** What leases used in each limited scope and the scope does not count yet. */
const unappliedUnderText = ({ each, oneOf }: Words): string => {
  const usedBy = (keys: string, which: string) => usedOnLeases(`${oneOf('l.key_id', keys)} and ${which}`)
  return `select b.scope,
    case when b.owner_id is not null then ${usedBy(ofOwner, '(b.month is null or l.month = b.month)')}
      when b.sub_id is not null then ${usedBy(ofWallet, 'l.sub_id = b.sub_id')}
      else ${usedBy(ofWallet, 'l.day = b.day')} end as unapplied
  from budget b where b.lim is not null and ${oneOf('b.scope', `select e.value->>'s' from ${each('$1')} e`)}`
}

/** Locks the own lease, the budgets and the paying account, in one round trip. */
export const lockLimits = async (
  run: Run,
  words: Words,
  ask: LoanRequest,
  spender: SpendingKey,
): Promise<LockedLimits> => {
  const { key, day, payer, sub } = spender
  const stops = stopsOf(spender)
  const path = [ask.instance, key.id, day, payer, sub ?? '']
  const scopes = scopesOf({ line: [key.id, ...key.ancestors], walletId: key.walletId, day, sub })
  const own = `l.instance = $1 and l.key_id = $2 and l.day = $3 and l.wallet_id = $4
    and coalesce(l.sub_id, '') = $5 and l.state = 'open'`
  const wanted = JSON.stringify(scopes.map((s) => ({ s })))
  const [found, , counters, accounts, sums, unapplied] = await Promise.all([
    run(`select l.* from lease l where ${own}${words.lock('l')}`, path),
    run(
      `insert into budget (scope, owner_id, month, day, keep_until, wallet_id, lim)
       select e.value->>'s', e.value->>'o', e.value->>'m', e.value->>'d', cast(e.value->>'k' as bigint), e.value->>'w',
         case when e.value->>'d' is null then cast(e.value->>'l' as bigint)
           else (select r.daily_limit from wallet_rules r where r.wallet_id = e.value->>'w') end
       from ${words.each('$1')} e where true order by 1 on conflict (scope) do nothing`,
      [budgetsOf(spender)],
    ),
    run(
      `select b.* from budget b where ${words.oneOf('b.scope', `select e.value->>'s' from ${words.each('$1')} e`)}
       order by b.scope${words.lock('b')}`,
      [wanted],
    ),
    run(`${payers} where a.id = $1${words.lock('a')}`, [payer]),
    run(
      `select ${words.now} as now,
         ${heldOnLeases(own)} as own_held,
         ${stops.length === 0 ? 'cast(0 as bigint)' : usedOnLeases('l.wallet_id = $4')} as unapplied`,
      path,
    ),
    run(unappliedUnderText(words), [wanted]),
  ])
  if (counters.length !== scopes.length) throw new Error(`sub-wallet ${sub} of key ${key.id} has no budget`)
  const sum = onlyRow(sums)
  const [lease, payerRow] = [found.map(leases.read)[0], accounts.map(payerRows.read)[0]]
  return {
    lease,
    budgets: counters.map(budgets.read),
    payer: payerRow,
    ...ownRoomOf(lease, nanoOf(sum, 'own_held'), ask),
    stops,
    unapplied: nanoOf(sum, 'unapplied'),
    unappliedUnder: new Map(unapplied.map((row) => [textOf(row, 'scope'), nanoOf(row, 'unapplied')])),
    now: countOf(sum, 'now'),
  }
}

/** The own lease, combining what the ledger and the instance know: intents that are on their way count as written. */
const ownRoomOf = (
  lease: LeaseRow | undefined,
  written: Nano,
  ask: LoanRequest,
): Pick<LockedLimits, 'ownUnused' | 'unwritten' | 'astray'> => {
  if (lease === undefined) return { ownUnused: 0n, unwritten: 0n, astray: 0n }
  const { held: told = 0n, free = 0n } = lease.id === ask.leaseId ? ask : {}
  const leased = lease.granted - lease.used
  const held = greatest(written, least(told, leased))
  const ownUnused = leased - held
  return { ownUnused, unwritten: held - written, astray: greatest(ownUnused - free, 0n) }
}

type Stop = { readonly owner: KeyId; readonly stopAt: Nano }

/** What the key and the keys above it want to stay in the wallet; nothing when another account pays. */
const stopsOf = ({ key, makers, payer }: SpendingKey): readonly Stop[] =>
  payer === key.walletId
    ? [key, ...makers].flatMap(({ id, limits: { stopAt } }) =>
        stopAt === undefined ? [] : [{ owner: id, stopAt }],
      )
    : []

/**
 * The least that the limits beside the account leave, less the room that the instance has on its own lease; undefined
 * when there is no such limit. Charges count; money that is only held does not.
 */
export const besideOf = (locked: LockedLimits, payer: PayerRow): Nano | undefined => {
  const settled = payer.balance - locked.unapplied
  const lefts = [
    ...locked.stops.map(({ stopAt }) => settled - stopAt),
    ...locked.budgets.flatMap(({ scope, lim, used }) =>
      lim === undefined ? [] : [lim - used - (locked.unappliedUnder.get(scope) ?? 0n)],
    ),
  ]
  if (lefts.length === 0) return undefined
  const { lease, astray } = locked
  const own = lease === undefined ? 0n : lease.granted - lease.used - astray
  return lefts.reduce(least) - own
}

export const limitsOf = (
  { budgets: counters, stops: kept }: LockedLimits,
  payer: PayerRow,
  spender: SpendingKey,
): readonly Limit[] => {
  const free = freeOf(payer)
  const capped = counters.flatMap((counter): readonly Limit[] => {
    const { scope, lim, used, held, ownerId, month } = counter
    if (lim === undefined) return []
    const room = lim - used - held
    if (counter.subId !== undefined) return [{ name: 'sub_wallet', room, scope, cap: lim }]
    if (counter.day !== undefined) return [{ name: 'daily_limit_usd', room, scope, cap: lim }]
    if (ownerId === undefined) throw new Error(`the counter ${scope} belongs to nobody`)
    return [
      {
        name: month === undefined ? 'spend_cap_usd' : 'monthly_cap_usd',
        room,
        scope,
        cap: lim,
        owner: ownerId,
      },
    ]
  })
  const ofWallet = spender.payer === spender.key.walletId
  const stops = kept.map(
    ({ owner, stopAt }): Limit => ({ name: 'stop_at_remaining_usd', room: free - stopAt, owner }),
  )
  const name = isPayment(payer) ? 'payment' : ofWallet ? 'wallet' : 'credit_line'
  return [{ name, room: free }, ...stops, ...capped]
}
