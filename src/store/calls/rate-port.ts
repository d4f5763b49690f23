/** The store's port for rates. */
import type { Instant } from '../../core/time.ts'
import type { KeyId } from '../../tenancy/key.ts'
import type { RateName } from '../../tenancy/rates.ts'

/** Requests and tokens of keys, counted in the fixed windows of the database's clock. */
export type RateStore = {
  /**
   * Takes up to `count` from the current window of each rate, all in one transaction; answers in the order of the
   * requests.
   */
  takeRates(
    keyId: KeyId,
    asks: readonly { readonly rate: RateName; readonly count: number; readonly limit: number }[],
  ): Promise<readonly { taken: number; used: number; windowStart: Instant; now: Instant }[]>
  /** Gives back what was taken and not used, if the window is still current. */
  returnRate(
    keyId: KeyId,
    back: { readonly rate: RateName; readonly windowStart: Instant; readonly count: number },
  ): Promise<void>
}
