/** The store's port for rates. */
import type { Instant } from '../../core/time.ts'
import type { InstanceId } from '../../ledger/types.ts'
import type { KeyId } from '../../tenancy/key.ts'
import type { RateName } from '../../tenancy/rates.ts'

/** What a process may use of each window without asking, under a name that is never used again; 0 for no share. */
type ShareAsk = { readonly name: string; readonly instance: InstanceId; readonly size: number }

export type RateAsk = {
  readonly rate: RateName
  readonly count: number
  readonly limit: number
  readonly share?: ShareAsk
}

export type RateTaken = {
  readonly taken: number
  readonly used: number
  /** The shares of all processes. */
  readonly kept: number
  /** The share that was given: all that was asked for, or 0. Of the present window it is part of `taken`. */
  readonly share: number
  readonly windowStart: Instant
  readonly now: Instant
}

/** Requests and tokens of keys, counted in the fixed windows of the database's clock. */
export type RateStore = {
  /**
   * Takes up to `count` from the current window of each rate, all in one transaction; answers in the order of the
   * requests. If there is too little, shares of other processes are recalled.
   */
  takeRates(keyId: KeyId, asks: readonly RateAsk[]): Promise<readonly RateTaken[]>
  /** Gives back what was taken and not used, if the window is still current, and ends the named share. */
  returnRate(
    keyId: KeyId,
    back: {
      readonly rate: RateName
      readonly windowStart: Instant
      readonly count: number
      readonly share?: string
    },
  ): Promise<void>
}
