/**
 * Decides how much a lease may grow, and what to answer when money does not fit. All limits in money are treated alike.
 */
import { greatest, least, NANO_PER_USD, type Nano } from '../core/money.ts'
import type { KeyId } from '../tenancy/key.ts'
import { capList, capNamed } from '../tenancy/limits.ts'
import type { BindingBudget, BindingLimit } from './types.ts'

/** The least that a wallet must have available for any call: 0.01 USD. */
export const WALLET_MINIMUM: Nano = NANO_PER_USD / 100n

/** With less money than this available, or less than this many calls' worth, every call asks the ledger. */
const TIGHT_BELOW: Nano = NANO_PER_USD / 20n
const TIGHT_CALLS = 20n
/** A recall brings back room for this many calls: each that came after would wait for the next lease. */
const CALLS_RECALLED = 16n

/** One limit in money: the wallet's floor or daily limit, a credit line, a cap of a key or of a tag's budget, a sub-wallet, or a key's stop-at. */
export type Limit = {
  readonly name: BindingLimit
  /** What may still be leased under it: limit − used − held. Negative after the limit was lowered. */
  readonly room: Nano
  /** The counter behind a cap, sub-wallet or daily limit; absent for the wallet, the credit line and stop-at. */
  readonly scope?: string
  /** Whose cap it is. */
  readonly owner?: KeyId
  /** The tag's budget that it is a cap of, and its id. */
  readonly budget?: BindingBudget & { readonly id: string }
  /** The limit itself, for caps. */
  readonly cap?: Nano
}

export type Demand = {
  /**
   * The growth without which the call cannot run; negative by the amount that the lease covers beyond the call.
   * Undefined when no call waits and the lease is only renewed.
   */
  readonly need: Nano | undefined
  /** What the call holds; nothing when no call waits. */
  readonly amount: Nano
  readonly want: Nano
  /** Room of the asking instance's own lease that no open call holds. */
  readonly ownUnused: Nano
  /** What a wallet must have: its minimum, but nothing for a call that is already open. */
  readonly minimum: Nano
}

/** Whether a limit with this much left is too short for the request; the lease's own unused room counts for it. */
const isShort = ({ name }: Limit, has: Nano, { need, amount, ownUnused, minimum }: Demand): boolean => {
  if (need === undefined) return false
  if (name === 'wallet') return has < greatest(need, minimum - ownUnused)
  // A call that costs nothing fits under every cap, even one that was lowered below what is spent.
  return has < need && amount > 0n
}

/**
 * The limits that are too short for the request. The room of the asking lease counts together with what the limit has
 * left, so a call that fits is never refused, whichever lease holds the money.
 */
export const shortLimits = (limits: readonly Limit[], ask: Demand): readonly Limit[] =>
  limits.filter((limit) => isShort(limit, limit.room, ask))

/** With less than this available, every call of that need asks the ledger. */
const tightBelow = (need: Nano): Nano => greatest(TIGHT_BELOW, TIGHT_CALLS * need)

const needOf = ({ need }: Demand): Nano => greatest(need ?? 0n, 0n)

/**
 * The limits that are nearly used up, and what they lack for calls to be admitted without asking again. What processes
 * keep under them is wanted back.
 */
export const nearlyUsed = (
  limits: readonly Limit[],
  ask: Demand,
): readonly { readonly limit: Limit; readonly lack: Nano }[] => {
  const least = tightBelow(needOf(ask))
  return limits.flatMap((limit) => (limit.room < least ? [{ limit, lack: 2n * least - limit.room }] : []))
}

/** What a limit that is too short for a call lacks for it, and for some calls like it. */
export const lackOf = ({ room }: Limit, { need, amount, ownUnused, minimum }: Demand): Nano =>
  greatest(need ?? 0n, minimum - ownUnused) - room + amount * CALLS_RECALLED

/**
 * How much the lease grows when no limit is short: up to `want`, but at most half of what is left unless the call
 * itself needs more, so that a small wallet stays usable from every instance. Near the end of the money, exactly what
 * the call needs.
 */
export const growth = (
  limits: readonly Limit[],
  ask: Demand,
): { readonly grown: Nano; readonly tight: boolean } => {
  const available = limits.reduce((lowest, limit) => least(lowest, limit.room), limits[0]?.room ?? 0n)
  const need = needOf(ask)
  const tight = available < tightBelow(need)
  if (tight) return { grown: need, tight }
  return { grown: greatest(least(ask.want, available / 2n), need), tight }
}

/** A limit that is too short, with what else is known of it. */
export type Shortage = {
  readonly limit: Limit
  /** Unused room of other leases under it, which a recall could bring back. */
  readonly idle: Nano
  /** What open calls hold of it. */
  readonly held: Nano
  /** What was charged under it so far. */
  readonly spent: Nano
}

type ShortageVerdict = {
  /**
   * `recall`: other leases' unused room would suffice. `held`: what open calls hold would suffice, if it comes back.
   * `spent`: the money is gone.
   */
  readonly outcome: 'recall' | 'held' | 'spent'
  readonly binding: Shortage
  /**
   * Keys whose lifetime or monthly cap leaves nothing useful, each with that cap. A cap of a day or week disables no key:
   * its calls are refused until the next.
   */
  readonly exhausted: readonly {
    readonly owner: KeyId
    readonly limit: BindingLimit
  }[]
}

/** Which limit to name when several are equally short. */
const order: readonly BindingLimit[] = [
  ...capList.map(({ member }) => member),
  'budget',
  'sub_wallet',
  'daily_limit_usd',
  'stop_at_remaining_usd',
  'wallet',
  'credit_line',
  'no_credit_line',
  'past_due',
  'payment',
]

/**
 * What could be made available under a limit now, apart from the lease's own unused room: what is left, and what a
 * recall brings back.
 */
const reachable = ({ limit, idle }: Shortage): Nano => limit.room + idle

const tighter = (a: Shortage, b: Shortage): Shortage => {
  if (reachable(a) !== reachable(b)) return reachable(a) < reachable(b) ? a : b
  return order.indexOf(a.limit.name) <= order.indexOf(b.limit.name) ? a : b
}

const tightest = ([first, ...rest]: readonly [Shortage, ...Shortage[]]): Shortage =>
  rest.reduce(tighter, first)

/**
 * What to answer when limits are short. Other leases' unused room is recalled if that can help. What open calls hold
 * may come back. Only spent money is gone. A cap is exhausted when the smallest useful charge would not fit even
 * without any open hold.
 */
export const verdictOf = (
  shortages: readonly [Shortage, ...Shortage[]],
  ask: Demand,
  useful: Nano,
): ShortageVerdict => {
  const lacking = shortages.filter((shortage) => isShort(shortage.limit, reachable(shortage), ask))
  const [lack, ...lacks] = lacking
  if (lack === undefined) return { outcome: 'recall', binding: tightest(shortages), exhausted: [] }
  const spent = lacking.filter((shortage) =>
    isShort(shortage.limit, reachable(shortage) + shortage.held, ask),
  )
  const [gone, ...others] = spent
  if (gone === undefined) return { outcome: 'held', binding: tightest([lack, ...lacks]), exhausted: [] }
  const exhausted = spent.flatMap(({ limit, spent: charged }) =>
    capNamed(limit.name)?.cap.disables !== undefined &&
    limit.owner !== undefined &&
    limit.cap !== undefined &&
    limit.cap - charged < useful
      ? [{ owner: limit.owner, limit: limit.name }]
      : [],
  )
  return { outcome: 'spent', binding: tightest([gone, ...others]), exhausted }
}
