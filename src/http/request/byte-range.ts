/** The part of a file that a request asks for (RFC 9110, 14). */
import type { Span } from '../../assets/byte-store.ts'

const RANGE = /^bytes=(?:(\d{1,15})-(\d{0,15})|-(\d{1,15}))$/

/**
 * The part of `bytes` to send; undefined for all of them: there is no range, a list of ranges, or an unreadable one.
 * `none` when the range lies outside.
 */
export const spanOf = (range: string | null, bytes: number): Span | 'none' | undefined => {
  const [whole, from, to, lastOnes] = RANGE.exec(range ?? '') ?? []
  if (whole === undefined) return undefined
  if (lastOnes !== undefined) {
    const count = Math.min(Number(lastOnes), bytes)
    return count === 0 ? 'none' : { first: bytes - count, last: bytes - 1 }
  }
  const first = Number(from)
  const last = to === '' ? bytes - 1 : Math.min(Number(to), bytes - 1)
  // A range whose last byte is before its first is unreadable.
  if (to !== '' && Number(to) < first) return undefined
  return first >= bytes ? 'none' : { first, last }
}
