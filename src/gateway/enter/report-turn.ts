/** One report of a key. Each reads many rows, so a key may make only a few a minute. */
import { reportsLimited } from '../../admission/rate.ts'
import type { KeyId } from '../../tenancy/key.ts'
import type { Gateway } from '../parts/gateway.ts'

/** Counts a report before it is made, or throws the 429. */
export const takeReportTurn = ({ memory: { guestRates }, options, clock }: Gateway, key: KeyId): void => {
  const limit = options.reportRpm
  const { admitted, leftMs } = guestRates.take(`report ${key}`, limit, clock.monotonicMs())
  if (!admitted) throw reportsLimited(limit, leftMs)
}
