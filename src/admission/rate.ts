/** The refusals of requests over the rate: of a key, or of an address that calls without one. */
import { type Refusal, refuse, retryIn } from '../core/refusal.ts'
import { type RateName, rateWindows } from '../tenancy/rates.ts'

type Used = { readonly rate: RateName; readonly limit: number; readonly retryAfterMs: number }

/** `limit` names the rate that is used up: the key's own, or that of a key above it, which all keys below share. */
export const rateLimited = ({ rate, limit, retryAfterMs }: Used, whose: 'own' | 'shared'): Refusal => {
  const { member, window, counts } = rateWindows[rate]
  const [who, of] =
    whose === 'own' ? ['The key has', 'its'] : ['The key above this one and all below it have', 'their']
  const why =
    counts === 'requests'
      ? `${who} used ${of} ${limit} requests of this ${window}`
      : `${who} too few left of ${of} ${limit} tokens of this ${window}, with what open calls reserve of them`
  return limited(why, retryAfterMs, { limit: member })
}

export const guestsLimited = (limit: number, retryAfterMs: number): Refusal =>
  limited(
    `From your network address came ${limit} requests of this kind within a minute, as many as are taken`,
    retryAfterMs,
  )

export const reportsLimited = (limit: number, retryAfterMs: number): Refusal =>
  limited(`The key asked for ${limit} reports within a minute, as many as are made`, retryAfterMs)

export const triesLimited = (limit: number, retryAfterMs: number): Refusal =>
  limited(`The organisation had ${limit} keys of vendors tried within a minute, as many as are`, retryAfterMs)

export const smallRequestsLimited = (limit: number, retryAfterMs: number): Refusal =>
  limited(
    `The key sent ${limit} requests within a minute that change something or are wrong, as many as its rates allow`,
    retryAfterMs,
  )

const limited = (why: string, retryAfterMs: number, more: Record<string, string> = {}): Refusal => {
  const seconds = Math.max(1, Math.ceil(retryAfterMs / 1000))
  const { members, headers } = retryIn(seconds)
  const retry = { headers, members: { ...members, ...more } }
  return refuse('rate_limit_exceeded', `${why}; try again in ${seconds} s.`, retry)
}
