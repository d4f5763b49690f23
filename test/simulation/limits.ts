/**
 * Books of the simulation's own: what each limit has, and the most that calls have committed of it since a call asked.
 * A call counts from the moment it asks until it has ended, so what fits here fits in whatever order things happened.
 */
import type { Key } from '../../src/tenancy/key.ts'

/** The least a wallet must have for any call: 0.01 USD. */
const WALLET_MINIMUM = 10_000_000n

type Limit = {
  readonly isWallet: boolean
  readonly has: bigint
  /** Charged, held and asked for. */
  committed: bigint
}

/** One call's request or hold. */
export type Commitment = {
  /** Whether it fitted all the time since it asked, with this much left over. */
  fits(spare?: bigint): boolean
  /** It was refused, or nothing came of it. */
  drop(): void
  /** It ended, at this charge. */
  end(charge: bigint): void
  /** Asks for more, for the same call. */
  more(amount: bigint): Commitment & { join(): void }
}

export type Limits = {
  ask(key: Key, sub: string | undefined, amount: bigint, user?: string): Commitment
  /** What is left for a call now. */
  left(key: Key, sub: string | undefined, user?: string): bigint
}

type Shop = {
  readonly keys: readonly Key[]
  readonly deposit: bigint
  readonly budgets: ReadonlyMap<string, bigint>
  /** What each end user may spend, by name. */
  readonly users?: ReadonlyMap<string, bigint>
}

export const createLimits = ({ keys, deposit, budgets, users = new Map() }: Shop): Limits => {
  const newLimit = (has: bigint, isWallet = false): Limit => ({ isWallet, has, committed: 0n })
  const wallet = newLimit(deposit, true)
  const subs = new Map([...budgets].map(([id, has]) => [id, newLimit(has)]))
  const ofUsers = new Map([...users].map(([name, has]) => [name, newLimit(has)]))
  // These histories lie in two months and days: caps of those count both, which only makes the law weaker.
  const caps = new Map(
    keys.map(({ id, limits: { spendCap, monthlyCap, weeklyCap, dailyCap } }) => [
      id,
      [spendCap, monthlyCap, weeklyCap, dailyCap].flatMap((cap) =>
        cap === undefined ? [] : [newLimit(cap)],
      ),
    ]),
  )
  /** The highest commitments of each limit since a pending request began. */
  const pending = new Set<Map<Limit, bigint>>()

  const commit = (limits: readonly Limit[], amount: bigint): void => {
    for (const limit of limits) {
      limit.committed += amount
      for (const peaks of pending)
        if (limit.committed > (peaks.get(limit) ?? limit.committed + 1n)) peaks.set(limit, limit.committed)
    }
  }

  const open = (limits: readonly Limit[], asked: bigint, minimum: bigint): Commitment & { join(): void } => {
    let amount = asked
    commit(limits, amount)
    const peaks = new Map(limits.map((limit) => [limit, limit.committed]))
    pending.add(peaks)
    const over = (kept: bigint) => {
      pending.delete(peaks)
      commit(limits, kept - amount)
      amount = kept
    }
    return {
      fits: (spare = 0n) => {
        pending.delete(peaks)
        return limits.every((limit) => {
          const left = limit.has - (peaks.get(limit) ?? 0n)
          return left >= spare && (!limit.isWallet || left + asked >= minimum)
        })
      },
      drop: () => over(0n),
      end: over,
      more: (extra) => {
        const further = open(limits, extra, 0n)
        return {
          ...further,
          join: () => {
            further.fits()
            amount += extra
          },
        }
      },
      join: () => undefined,
    }
  }

  const limitsOf = (key: Key, sub: string | undefined, user = ''): readonly Limit[] => [
    wallet,
    ...[ofUsers.get(user)].flatMap((limit) => limit ?? []),
    ...[key.id, ...key.ancestors].flatMap((id) => caps.get(id) ?? []),
    ...(sub === undefined ? [] : [subs.get(sub)].flatMap((limit) => limit ?? [])),
  ]

  return {
    ask: (key, sub, amount, user) => open(limitsOf(key, sub, user), amount, WALLET_MINIMUM),
    left: (key, sub, user) =>
      limitsOf(key, sub, user).reduce(
        (least, { has, committed }) => (has - committed < least ? has - committed : least),
        deposit,
      ),
  }
}
