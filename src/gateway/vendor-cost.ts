/** The drift alarm of prices that were written by hand: a vendor that says that it billed more than its caller was charged. */
import type { Nano } from '../core/money.ts'
import type { Gateway } from './gateway.ts'

/** Warns where the vendor's own bill, in nano-USD, is above the charge; nothing where it told none. */
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
