/** Decides what a lease may grow by, and what to say when money does not fit. All limits in money are meters. */
import { greatest, least, NANO_PER_USD, type Nano } from '../core/money.ts'
import type { KeyId } from '../tenancy/key.ts'
import type { BindingLimit } from './words.ts'

/** The least a wallet must have available for any call: 0.01 USD. */
export const WALLET_MINIMUM: Nano = NANO_PER_USD / 100n

/** Under this much available money, or under this many calls' worth, every call asks the ledger. */
const TIGHT_BELOW: Nano = NANO_PER_USD / 20n
const TIGHT_CALLS = 20n

/** One limit in money: the wallet's floor or its daily limit, a credit line, a cap, a sub-wallet, or a key's stop-at. */
export type Meter = {
  readonly limit: BindingLimit
  /** What still may be leased under it: limit − used − held. Negative after the limit was lowered. */
  readonly room: Nano
  /** The counter behind a cap, a sub-wallet or a daily limit; absent for the wallet, the credit line and stop-at. */
  readonly scope?: string
  /** Whose cap it is. */
  readonly owner?: KeyId
  /** The limit itself, for caps. */
  readonly lim?: Nano
}

export type Ask = {
  readonly need: Nano
  readonly want: Nano
  /** Room of the asking instance's own lease that no open call holds. */
  readonly ownUnused: Nano
}

/** What a meter must have for the ask: the wallet also has its minimum, counting the instance's own unused room. */
const neededOf = (meter: Meter, ask: Ask): Nano =>
  meter.limit === 'wallet' ? greatest(ask.need, WALLET_MINIMUM - ask.ownUnused) : ask.need

/** The meters that are too short for the ask. An ask without a need only renews a lease and is never short. */
export const shortMeters = (meters: readonly Meter[], ask: Ask): readonly Meter[] =>
  ask.need <= 0n ? [] : meters.filter((meter) => meter.room < neededOf(meter, ask))

/**
 * How much the lease grows when no meter is short: up to `want`, but never more than half of what is left unless the
 * call itself needs more, so that a small wallet stays usable from every instance. Near the end of the money exactly
 * what the call needs.
 */
export const growth = (
  meters: readonly Meter[],
  ask: Ask,
): { readonly grown: Nano; readonly tight: boolean } => {
  const available = meters.reduce((lowest, meter) => least(lowest, meter.room), meters[0]?.room ?? 0n)
  const need = greatest(ask.need, 0n)
  const tight = available < TIGHT_BELOW || available < TIGHT_CALLS * need
  if (tight) return { grown: need, tight }
  return { grown: greatest(least(ask.want, available / 2n), need), tight }
}

/** A short meter with what else is known of it. */
export type Shortage = {
  readonly meter: Meter
  /** Unused room of other leases under it, which a recall could bring back. */
  readonly idle: Nano
  /** What open calls hold of it. */
  readonly held: Nano
  /** What was charged under it so far. */
  readonly spent: Nano
}

type Verdict = {
  readonly outcome: 'recall' | 'cap' | 'insufficient'
  readonly binding: Shortage
  /** Keys whose cap has no use left, with the cap that says so. */
  readonly exhausted: readonly {
    readonly owner: KeyId
    readonly limit: 'spend_cap_usd' | 'monthly_cap_usd'
  }[]
}

/** Which limit to name when several are equally short. */
const order: readonly BindingLimit[] = [
  'spend_cap_usd',
  'monthly_cap_usd',
  'sub_wallet',
  'daily_limit_usd',
  'stop_at_remaining_usd',
  'wallet',
  'credit_line',
  'no_credit_line',
  'past_due',
  'payment',
]

const tighter = (a: Shortage, b: Shortage): Shortage => {
  if (a.meter.room !== b.meter.room) return a.meter.room < b.meter.room ? a : b
  return order.indexOf(a.meter.limit) <= order.indexOf(b.meter.limit) ? a : b
}

/**
 * What to answer when meters are short. Other leases' unused room is recalled if that can help; else the limit with
 * the least room is named. A cap is exhausted when even without any open hold the smallest useful charge would not fit:
 * money that open calls hold may come back, so it does not disable a key.
 */
export const verdictOf = (shortages: readonly [Shortage, ...Shortage[]], ask: Ask, useful: Nano): Verdict => {
  const [first, ...rest] = shortages
  const hopeless = shortages.filter(({ meter, idle }) => meter.room + idle < neededOf(meter, ask))
  const [worst, ...others] = hopeless
  if (worst === undefined) return { outcome: 'recall', binding: rest.reduce(tighter, first), exhausted: [] }
  const binding = others.reduce(tighter, worst)
  const exhausted = hopeless.flatMap(({ meter, spent }) =>
    (meter.limit === 'spend_cap_usd' || meter.limit === 'monthly_cap_usd') &&
    meter.owner !== undefined &&
    meter.lim !== undefined &&
    meter.lim - spent < useful
      ? [{ owner: meter.owner, limit: meter.limit }]
      : [],
  )
  const isCap = binding.meter.limit === 'spend_cap_usd' || binding.meter.limit === 'monthly_cap_usd'
  return { outcome: isCap ? 'cap' : 'insufficient', binding, exhausted }
}
