/**
 * The alarm for prices that were written by hand: it sounds when a vendor says it billed more than we charged the
 * caller.
 */
import type { Nano } from '../../core/money.ts'
import type { Gateway } from '../parts/gateway.ts'

/** Warns if the vendor's own bill, in nano-USD, is above the charge. Does nothing if the vendor reported none. */
export const watchVendorCost = (
  { log }: Pick<Gateway, 'log'>,
  it: {
    readonly call: string
    readonly vendor: string
    readonly vendorCost: Nano | undefined
    readonly charged: Nano
  },
): void => {
  const { vendorCost, charged, ...who } = it
  if (vendorCost === undefined || vendorCost <= charged) return
  log.warn('the vendor billed more than was charged', { ...who, excess: vendorCost - charged })
}
