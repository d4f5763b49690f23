/** The refusal of a call over the key's requests per minute. */
import { type Refusal, refuse, retryIn } from '../core/refusal.ts'

export const rateLimited = (limit: number, retryAfterMs: number): Refusal => {
  const seconds = Math.max(1, Math.ceil(retryAfterMs / 1000))
  return refuse(
    'rate_limit_exceeded',
    `The key has used its ${limit} requests of this minute; try again in ${seconds} s.`,
    retryIn(seconds),
  )
}
