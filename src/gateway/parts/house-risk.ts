/**
 * Long prompts under low limits. No tokenizer makes more tokens than there are bytes, so calls are held for that bound.
 * But text has about four bytes a token, so a prompt that costs a fifth of its bound would be refused. If the bound
 * does not fit, the call is held for a tighter one, which nearly every text keeps. The house pays for a text that costs
 * more. Each process risks only a fixed amount per wallet and day, and counts it before it takes the risk. The log
 * reports each case, like any excess.
 *
 * For example, a prompt of 40,000 bytes is an estimated 10,000 tokens. Its bound is 40,000 tokens; the tighter one is
 * 15,000, half as many again as estimated. At $1 a million tokens the house risks the $0.025 between them. If the text
 * turns out to have 16,000 tokens, it has lost $0.001 of its dollar for this wallet and day, and the bounds of this
 * model's next texts are wider.
 */
import type { Hold } from '../../book/contract.ts'
import type { Call, InputSize } from '../../core/call.ts'
import type { Model } from '../../core/model.ts'
import { greatest, NANO_PER_USD, type Nano } from '../../core/money.ts'
import { type Clock, type Day, dayOf } from '../../core/time.ts'
import { inputTokens } from '../../core/usage.ts'
import type { UsageDetail } from '../../ledger/types.ts'
import { textEstimate } from '../../metering/estimate.ts'
import { ceiling } from '../../pricing/quote.ts'
import type { WalletId } from '../../tenancy/key.ts'
import { holdWith } from './hold-with.ts'

/** The most that the house may lose on one wallet in a UTC day, in each process. */
const DAILY_MOST: Nano = NANO_PER_USD
/** Real tokens per estimated token; it grows for a model whose vendor counted more. */
const FIRST_SHARE = 1.5
const LEARNT_MARGIN = 1.1
/** Below this size a tighter bound is not worth its risk. */
const LEAST_BYTES = 2_000
const WALLETS_MAX = 10_000

/** A risk that is taken: it counts against its wallet until it ends, by `watch` or by `drop`. */
type Risk = {
  /** The call with the tighter bound. */
  readonly call: Call
  /** Watches the call's hold: at its end, what the call cost the house is counted. */
  watch(hold: Hold): Hold
  /** The call came to nothing. */
  drop(): void
}

export type HouseRisk = {
  /** Whether a tighter bound can help a call of this size at all. */
  worthwhile(size: InputSize): boolean
  /** A tighter bound for the call, or undefined when the house would risk too much for the wallet today. */
  take(wallet: WalletId, model: Model, call: Call): Risk | undefined
}

export const createHouseRisk = ({ clock }: { readonly clock: Clock }): HouseRisk => {
  const shares = newShares()
  const days = newDays(clock)
  return {
    worthwhile: ({ textBytes, unbounded }) => textBytes >= LEAST_BYTES && unbounded !== true,
    take: (wallet, model, call) => {
      const estimate = textEstimate(call)
      const textTokens = Math.ceil(estimate * shares.of(model))
      if (textTokens >= call.size.textBytes) return undefined
      const size = { ...call.size, textTokens }
      const risked = ceiling(model, call.size, 0, 1) - ceiling(model, size, 0, 1)
      if (days.of(wallet) + risked > DAILY_MOST) return undefined
      days.add(wallet, risked)
      let over = false
      /** In place of what was risked, what was lost counts. */
      const end = (lost: Nano): void => {
        if (!over) days.add(wallet, lost - risked)
        over = true
      }
      const dropped = () => end(0n)
      return {
        call: { ...call, size },
        watch: (hold) =>
          watched(hold, {
            settled: (lost, { usage, estimated }) => {
              end(lost)
              if (!estimated) shares.learn(model, inputTokens(usage) / estimate)
            },
            dropped,
          }),
        drop: dropped,
      }
    },
  }
}

/** Real tokens per estimated token, by model. */
const newShares = () => {
  const known = new Map<string, number>()
  const of = ({ id }: Model): number => known.get(id) ?? FIRST_SHARE
  return {
    of,
    /** A text had so many; with a margin, texts to come may. */
    learn: (model: Model, had: number): void => {
      const share = had * LEARNT_MARGIN
      if (share > of(model)) known.set(model.id, share)
    },
  }
}

/** What the house risks or has lost on each wallet in the present UTC day. */
const newDays = (clock: Clock) => {
  const sums = new Map<WalletId, Nano>()
  let day: Day = ''
  const of = (wallet: WalletId): Nano => {
    const today = dayOf(clock.now())
    if (today !== day || sums.size > WALLETS_MAX) sums.clear()
    day = today
    return sums.get(wallet) ?? 0n
  }
  return {
    of,
    add: (wallet: WalletId, change: Nano): void => {
      sums.set(wallet, greatest(of(wallet) + change, 0n))
    },
  }
}

type Ends = {
  readonly settled: (lost: Nano, detail: UsageDetail) => void
  readonly dropped: () => void
}

/** A hold that reports, at its end, how much the call cost beyond it. */
const watched = (hold: Hold, { settled, dropped }: Ends): Hold =>
  holdWith(hold, {
    void: () => {
      dropped()
      return hold.void()
    },
    settle: (cost, detail, answer) => {
      settled(greatest(cost - hold.amount(), 0n), detail)
      return hold.settle(cost, detail, answer)
    },
  })
