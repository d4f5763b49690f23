/**
 * Long prompts under low limits. No tokenizer makes more tokens than there are bytes, so calls are held for that bound.
 * But text has about four bytes a token, so a prompt that costs a fifth of its bound would be refused. If the bound
 * does not fit, the call is held for a tighter one, which nearly every text keeps. The house pays for a text that costs
 * more. Each process risks only a fixed amount per wallet and day, and counts it before it takes the risk. The log
 * reports each case, like any excess.
 */
import type { Hold } from '../book/contract.ts'
import type { Call, InputSize } from '../core/call.ts'
import type { Model } from '../core/model.ts'
import { greatest, NANO_PER_USD, type Nano } from '../core/money.ts'
import { type Clock, type Day, dayOf } from '../core/time.ts'
import { inputTokens } from '../core/usage.ts'
import type { UsageDetail } from '../ledger/types.ts'
import { textEstimate } from '../metering/estimate.ts'
import { ceiling } from '../pricing/quote.ts'
import type { WalletId } from '../tenancy/key.ts'
import { holdWith } from './hold-with.ts'

/** The most that the house may lose on one wallet in a UTC day, in each process. */
const DAILY_MOST: Nano = NANO_PER_USD
/** Real tokens per estimated token; it grows for a model whose vendor counted more. */
const FIRST_SHARE = 1.5
const LEARNT_MARGIN = 1.1
/** Below this size a tighter bound is not worth its risk. */
const LEAST_BYTES = 2_000
const WALLETS_MAX = 10_000

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
  const shares = new Map<string, number>()
  const risked = new Map<WalletId, Nano>()
  let day: Day = ''

  const riskedFor = (wallet: WalletId): Nano => {
    const today = dayOf(clock.now())
    if (today !== day || risked.size > WALLETS_MAX) risked.clear()
    day = today
    return risked.get(wallet) ?? 0n
  }

  const count = (wallet: WalletId, change: Nano): void => {
    risked.set(wallet, greatest(riskedFor(wallet) + change, 0n))
  }

  return {
    worthwhile: ({ textBytes, unbounded }) => textBytes >= LEAST_BYTES && unbounded !== true,
    take: (wallet, model, call) => {
      const textTokens = Math.ceil(textEstimate(call) * (shares.get(model.id) ?? FIRST_SHARE))
      if (textTokens >= call.size.textBytes) return undefined
      const size = { ...call.size, textTokens }
      const amount = ceiling(model, call.size, 0, 1) - ceiling(model, size, 0, 1)
      if (riskedFor(wallet) + amount > DAILY_MOST) return undefined
      count(wallet, amount)
      let over = false
      const end = (lost: Nano): void => {
        if (over) return
        over = true
        count(wallet, lost - amount)
      }
      const settled = (lost: Nano, { usage, estimated }: UsageDetail): void => {
        end(lost)
        const ratio = (inputTokens(usage) / textEstimate(call)) * LEARNT_MARGIN
        if (!estimated && ratio > (shares.get(model.id) ?? FIRST_SHARE)) shares.set(model.id, ratio)
      }
      return {
        call: { ...call, size },
        watch: (hold) => watched(hold, { settled, dropped: () => end(0n) }),
        drop: () => end(0n),
      }
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
