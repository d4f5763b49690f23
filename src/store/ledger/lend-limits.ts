/** What loans depend on: the leases that they grow and every limit in money, all locked. */
import { greatest, least, type Nano } from '../../core/money.ts'
import type { Instant } from '../../core/time.ts'
import type { Limit } from '../../ledger/lend.ts'
import { periodEnd } from '../../ledger/scopes.ts'
import type { AccountId, LoanRequest } from '../../ledger/types.ts'
import { capList, limitRows } from '../../tenancy/limits.ts'
import { type Run, type SqlDialect, Violation } from '../engine/engine.ts'
import { countOf, nanoOf, onlyRow, textOf } from '../engine/row.ts'
import { textsOnce } from '../engine/texts.ts'
import { type Budget, budgets, type LeaseRow, leases, type PayerRow, payerRows } from './ledger-rows.ts'
import { freeOf, isPayment, payers } from './payer.ts'
import { countersOf, type SpendingKey, type Stop, scopesUnder, stopsOf, tagBudgetsOf } from './spender.ts'
import { heldOfLease, samePeriod, settledOfAccount, stateOf, usedOnLeases } from './sums.ts'
import { manyLeases, manyOfEach, type ToldSums } from './told-sums.ts'

/** A request, and who spends. */
export type SpenderRequest = { readonly request: LoanRequest; readonly spender: SpendingKey }

/** What this transaction has lent since it read the limits, by scope and account. */
class LentNow {
  readonly #sums = new Map<string, Nano>()

  of(limit: string): Nano {
    return this.#sums.get(limit) ?? 0n
  }

  /** How much was lent under each of the limits. */
  add(limits: readonly string[], amount: Nano): void {
    for (const limit of limits) this.#sums.set(limit, this.of(limit) + amount)
  }
}

export type LockedLimits = {
  readonly lease: LeaseRow | undefined
  /** The id that was asked for is that of a lease which has ended, or is on another path. */
  readonly idUsed: boolean
  /** The scopes of its counters, sorted. */
  readonly scopes: readonly string[]
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
  /** What the account has, including charges that its balance does not count yet. Read only if there are stops. */
  readonly settled: Nano
  /** What leases used under each scope that has a limit and the scope does not count yet. */
  readonly unappliedUnder: ReadonlyMap<string, Nano>
  readonly lent: LentNow
  readonly now: Instant
}

const ofOwner = 'select n.key_id as id from key_line n where n.owner_id = b.owner_id'
const ofWallet = 'select k.id from api_key k where k.wallet_id = b.wallet_id'
const ofTag = 'select x.lease_id as id from lease_tag x where x.tag_budget = b.tag_budget'

/**
 * What leases used in each limited scope and the scope does not count yet. Each key's leases are looked up by themselves: for a list
 * of keys PostgreSQL walks all leases, by a plan that it made while there were few.
 */
const unappliedUnderText = ({ each, oneOf }: SqlDialect): string => {
  const by = (read: (where: string) => string, of: (list: string, sum: string) => string) => {
    const those = (list: string, which: string) => of(list, read(which))
    return `case when b.tag_budget is not null then ${those(ofTag, `l.id = o.id and ${samePeriod}`)}
      when b.owner_id is not null then ${those(ofOwner, `l.key_id = o.id and ${samePeriod}`)}
      when b.sub_id is not null then ${read('l.sub_id = b.sub_id')}
      else ${those(ofWallet, 'l.key_id = o.id and l.day = b.day')} end`
  }
  const sum = by(
    usedOnLeases,
    (list, of) => `coalesce((select cast(sum(${of}) as bigint) from (${list}) o), 0)`,
  )
  return `select b.scope as name, ${sum} as sum, ${by(manyLeases, manyOfEach)} as leases from budget b where b.lim is not null and ${oneOf('b.scope', `select e.value->>'s' from ${each('$1')} e`)}`
}

/** The statements that lock and read, in the order of the locks. */
const textsFor = textsOnce((dialect) => {
  const { each, joinEach, lock, now, oneOf } = dialect
  const listed = (param: string) => `select e.value->>'s' from ${each(param)} e`
  const isOpen = `${stateOf('l')} = 'open'`
  const own = `from ${each('$1')} e ${joinEach('lease', 'l', `l.key_id = e.value->>'s' and l.instance = $2 and l.state <> 'closed' and ${isOpen}`)}`
  return {
    leases: `select l.* from lease l where ${oneOf('l.id', `select l.id ${own} union all ${listed('$3')}`)} order by l.id${lock('l')}`,
    counters: `insert into budget (scope, owner_id, tag_budget, month, week, day, keep_until, wallet_id, lim)
       select e.value->>'s', e.value->>'o', e.value->>'t', e.value->>'month', e.value->>'week', e.value->>'day',
         cast(e.value->>'k' as bigint), e.value->>'w',
         case when coalesce(e.value->>'o', e.value->>'t') is not null then cast(e.value->>'l' as bigint)
           else (select r.daily_limit from wallet_rules r where r.wallet_id = e.value->>'w') end
       from ${each('$1')} e where true order by 1 on conflict (scope) do nothing`,
    budgets: `select b.* from budget b where ${oneOf('b.scope', listed('$1'))} order by b.scope${lock('b')}`,
    payers: `${payers} where ${oneOf('a.id', listed('$1'))} order by a.id${lock('a')}`,
    now: `select ${now} as now`,
    held: `select l.id, ${heldOfLease} as held ${own}`,
    settled: `select a.id as name, ${settledOfAccount} as sum, ${manyLeases('l.wallet_id = a.id')} as leases from account a where ${oneOf('a.id', listed('$1'))}`,
    unapplied: unappliedUnderText(dialect),
  }
})

const jsonOf = (values: Iterable<string>): string => JSON.stringify([...new Set(values)].map((s) => ({ s })))

/**
 * Locks and reads everything that the loans of one instance depend on, in one round trip. Returns it for each request.
 */
export const lockLimits = async (
  run: Run,
  dialect: SqlDialect,
  asks: readonly [SpenderRequest, ...SpenderRequest[]],
  told: ToldSums,
): Promise<readonly LockedLimits[]> => {
  const texts = textsFor(dialect)
  const spenders = asks.map(({ spender }) => spender)
  const { instance } = asks[0].request
  const keys = jsonOf(spenders.map(({ key }) => key.id))
  const scopes = spenders.flatMap(scopesUnder)
  const unsummed = told.due(scopes)
  const stopped = spenders.filter((spender) => stopsOf(spender).length > 0)
  const unsettled = told.due(stopped.map(({ payer }) => payer))
  const [own, , counters, accounts, clock, held, settled, unapplied] = await Promise.all([
    run(texts.leases, [keys, instance, jsonOf(asks.map(({ request }) => request.leaseId))]),
    run(texts.counters, [JSON.stringify(spenders.flatMap(countersOf))]),
    run(texts.budgets, [jsonOf(scopes)]),
    run(texts.payers, [jsonOf(spenders.map(({ payer }) => payer))]),
    run(texts.now),
    run(texts.held, [keys, instance]),
    unsettled.length === 0 ? [] : run(texts.settled, [jsonOf(unsettled)]),
    unsummed.length === 0 ? [] : run(texts.unapplied, [jsonOf(unsummed)]),
  ])
  const ownLeases = own.map(leases.read)
  const heldOf = new Map(held.map((row) => [textOf(row, 'id'), nanoOf(row, 'held')]))
  const counterOf = new Map(counters.map(budgets.read).map((one) => [one.scope, one]))
  const payerOf = new Map(accounts.map(payerRows.read).map((one) => [one.id, one]))
  const sums = told.with([...settled, ...unapplied])
  const lent = new LentNow()
  const now = countOf(onlyRow(clock), 'now')
  return asks.map(({ request, spender }) => {
    const { key, sub, payer } = spender
    const scopesOfIt = scopesUnder(spender)
    const found = scopesOfIt.flatMap((scope) => counterOf.get(scope) ?? [])
    if (found.length !== scopesOfIt.length)
      throw new Violation(`sub-wallet ${sub} of key ${key.id} has no budget`, undefined)
    const lease = ownLeases.find((one) => one.state === 'open' && isOn(one, spender))
    return {
      lease,
      idUsed: lease === undefined && ownLeases.some(({ id }) => id === request.leaseId),
      scopes: scopesOfIt,
      budgets: found,
      payer: payerOf.get(payer),
      ...ownRoomOf(lease, heldOf.get(lease?.id ?? '') ?? 0n, request),
      stops: stopsOf(spender),
      settled: sums.get(payer) ?? 0n,
      unappliedUnder: sums,
      lent,
      now,
    }
  })
}

/** Whether the lease belongs to this path. */
const isOn = (lease: LeaseRow, { key, day, payer, sub, tagsDigest }: SpendingKey): boolean =>
  lease.keyId === key.id &&
  lease.day === day &&
  lease.payer === payer &&
  lease.sub === sub &&
  lease.tags === tagsDigest

/**
 * The room of the own lease, from what the ledger and the instance know together: only the instance knows which calls it
 * opened whose intents are not written yet, and only the ledger knows room that the instance does not have.
 *
 * For example, a lease was granted 12 and has used 2; written intents hold 3, the instance reports that its calls hold 5
 * and that 4 are free. Then 10 are left, of which calls hold 5, 2 of these not written yet. The other 5 are unused, and
 * one of these is astray.
 */
const ownRoomOf = (
  lease: LeaseRow | undefined,
  heldByIntents: Nano,
  ask: LoanRequest,
): Pick<LockedLimits, 'ownUnused' | 'unwritten' | 'astray'> => {
  if (lease === undefined) return { ownUnused: 0n, unwritten: 0n, astray: 0n }
  // A report on another lease says nothing of this one.
  const reported = lease.id === ask.leaseId ? ask : undefined
  const left = lease.granted - lease.used
  const held = greatest(heldByIntents, least(reported?.held ?? 0n, left))
  const unused = left - held
  return {
    ownUnused: unused,
    unwritten: held - heldByIntents,
    astray: greatest(unused - (reported?.free ?? 0n), 0n),
  }
}

/**
 * The least that the limits beside the account leave, less the room that the instance has on its own lease; undefined
 * when there is no such limit. Charges count; money that is only held does not.
 */
export const besideOf = (locked: LockedLimits): Nano | undefined => {
  const lefts = [
    ...locked.stops.map(({ stopAt }) => locked.settled - stopAt),
    ...locked.budgets.flatMap(({ scope, lim, used }) =>
      lim === undefined ? [] : [lim - used - (locked.unappliedUnder.get(scope) ?? 0n)],
    ),
  ]
  if (lefts.length === 0) return undefined
  const { lease, astray } = locked
  const own = lease === undefined ? 0n : lease.granted - lease.used - astray
  return lefts.reduce(least) - own
}

/** All limits that a loan draws on, under which `LentNow` counts it. */
export const limitNames = (scopes: readonly string[], payer: AccountId): readonly string[] => [
  ...scopes,
  `account:${payer}`,
]

/** The cap that the counter of a key or of a tag's budget counts for. */
const capOf = (counter: Budget) =>
  capList.find(({ cap: { period } }) => period !== 'life' && counter[period] !== undefined) ??
  limitRows.spendCap

export const limitsOf = (
  { budgets: counters, stops: kept, lent, now }: LockedLimits,
  payer: PayerRow,
  spender: SpendingKey,
): readonly Limit[] => {
  const free = freeOf(payer) - lent.of(`account:${payer.id}`)
  const capped = counters.flatMap((counter): readonly Limit[] => {
    const { scope, lim, used, held, ownerId, tagBudget } = counter
    if (lim === undefined) return []
    const room = lim - used - held - lent.of(scope)
    const its = tagBudgetsOf(spender).find(({ id }) => id === tagBudget)
    if (its !== undefined) {
      const { id, tag, value } = its
      const { period } = capOf(counter).cap
      const ends = period === 'life' ? {} : { ends: periodEnd(period, now) }
      const budget = { id, tag, value, period, ...ends }
      return [{ name: 'budget', room, scope, cap: lim, budget }]
    }
    if (counter.subId !== undefined) return [{ name: 'sub_wallet', room, scope, cap: lim }]
    if (ownerId === undefined) return [{ name: 'daily_limit_usd', room, scope, cap: lim }]
    return [{ name: capOf(counter).member, room, scope, cap: lim, owner: ownerId }]
  })
  const ofWallet = spender.payer === spender.key.walletId
  const stops = kept.map(
    ({ owner, stopAt }): Limit => ({ name: 'stop_at_remaining_usd', room: free - stopAt, owner }),
  )
  const name = isPayment(payer) ? 'payment' : ofWallet ? 'wallet' : 'credit_line'
  return [{ name, room: free }, ...stops, ...capped]
}
