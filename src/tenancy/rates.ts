/** The rates of a key: how many requests or tokens it may use in fixed windows of the database's clock. */

/** Each is optional; an absent one does not bind. */
export type RateLimits = {
  /** Requests per minute, hour and day (UTC). */
  readonly rpm?: number
  readonly rph?: number
  readonly rpd?: number
  /** Tokens per minute, of input and output together. */
  readonly tpm?: number
}

export type RateName = keyof RateLimits

type RateWindow = {
  /** The name of the member that sets it, in bodies and answers. */
  readonly member: `${RateName}_limit`
  readonly lengthMs: number
  readonly window: 'minute' | 'hour' | 'day'
  readonly counts: 'requests' | 'tokens'
}

const MINUTE_MS = 60_000

/** From the shortest window of requests to the longest, then tokens. */
export const rateWindows: { readonly [Name in RateName]-?: RateWindow } = {
  rpm: { member: 'rpm_limit', lengthMs: MINUTE_MS, window: 'minute', counts: 'requests' },
  rph: { member: 'rph_limit', lengthMs: 60 * MINUTE_MS, window: 'hour', counts: 'requests' },
  rpd: { member: 'rpd_limit', lengthMs: 24 * 60 * MINUTE_MS, window: 'day', counts: 'requests' },
  tpm: { member: 'tpm_limit', lengthMs: MINUTE_MS, window: 'minute', counts: 'tokens' },
}

export const rateNames: readonly RateName[] = ['rpm', 'rph', 'rpd', 'tpm']

/** The smallest number of requests that any window allows; undefined if none counts requests. */
export const leastRequests = ({ rpm, rph, rpd }: RateLimits): number | undefined => {
  const limits = [rpm, rph, rpd].filter((limit) => limit !== undefined)
  return limits.length === 0 ? undefined : Math.min(...limits)
}

/** The least of several keys' limits, rate by rate. */
export const leastRates = (all: readonly RateLimits[]): RateLimits => {
  const [only] = all
  if (only !== undefined && all.length === 1) return only
  return Object.fromEntries(
    rateNames.flatMap((rate) => {
      const limits = all.flatMap((one) => one[rate] ?? [])
      return limits.length === 0 ? [] : [[rate, Math.min(...limits)]]
    }),
  )
}
