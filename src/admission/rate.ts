/** The refusals of requests over the rate: of a key, or of an address that calls without one. */
import { type Refusal, refuse, retryIn } from '../core/refusal.ts'

/** Of the key itself, or of a key above it, whose rate is for all below together. */
export const rateLimited = (limit: number, retryAfterMs: number, whose: 'own' | 'shared'): Refusal =>
  limited(
    whose === 'own'
      ? `The key has used its ${limit} requests of this minute`
      : `The key above this one and all below it have used their ${limit} requests of this minute`,
    retryAfterMs,
  )

export const guestsLimited = (limit: number, retryAfterMs: number): Refusal =>
  limited(
    `From your network address came ${limit} requests of this kind within a minute, as many as are taken`,
    retryAfterMs,
  )

const limited = (why: string, retryAfterMs: number): Refusal => {
  const seconds = Math.max(1, Math.ceil(retryAfterMs / 1000))
  return refuse('rate_limit_exceeded', `${why}; try again in ${seconds} s.`, retryIn(seconds))
}
