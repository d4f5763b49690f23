/**
 * A reseller's prices: the margin on ours, by month, and what a tenant is billed with it. The ledger knows nothing of it.
 */
import type { Nano } from '../core/money.ts'
import type { Month } from '../core/time.ts'

const WHOLE = 10_000n

/** Our price plus a margin in hundredths of a percent; rounded up, here and nowhere else. */
export const billedFor = (cost: Nano, basisPoints: number): Nano => {
  const scaled = cost * (WHOLE + BigInt(basisPoints))
  // Division rounds towards zero, which is up when more was given back than charged.
  return scaled > 0n ? (scaled + WHOLE - 1n) / WHOLE : scaled / WHOLE
}

/** The most that may cost of ours what a tenant bounds at its price: `billedFor` of it is never more than the bound. */
export const costWithin = (price: Nano, basisPoints: number): Nano =>
  (price * WHOLE) / (WHOLE + BigInt(basisPoints))

export type Margin = { readonly tenantId?: string; readonly fromMonth: Month; readonly basisPoints?: number }

/** A month's margin in hundredths of a percent: the tenant's own, else the general one, else none. */
export const marginIn = (
  margins: readonly Margin[],
  month: Month,
  tenantId?: string,
): { readonly basisPoints: number; readonly own: boolean } => {
  const last = (whose: string | undefined) =>
    margins
      .filter((margin) => margin.tenantId === whose && margin.fromMonth <= month)
      .reduce<Margin | undefined>(
        (newest, margin) => (newest === undefined || margin.fromMonth > newest.fromMonth ? margin : newest),
        undefined,
      )?.basisPoints
  const own = tenantId === undefined ? undefined : last(tenantId)
  return { basisPoints: own ?? last(undefined) ?? 0, own: own !== undefined }
}
