/** Where the next page of movements begins, as a text that the page sends back. */
import { parseJson } from '../core/json-body.ts'
import { invalid } from '../core/refusal.ts'
import type { MovementPlace } from '../store/reports/report-port.ts'

export const markOf = ({ place, kind, ref, balance }: MovementPlace): string =>
  Buffer.from(JSON.stringify([place, kind, ref, String(balance)])).toString('base64url')

/** Reads a text that `markOf` wrote; anything else is refused. */
export const placeOf = (mark: string | undefined): MovementPlace | undefined => {
  if (mark === undefined) return undefined
  const read = parseJson(Buffer.from(mark, 'base64url').toString())
  const [place, kind, ref, balance] = Array.isArray(read) ? read : []
  if (
    typeof place !== 'number' ||
    !Number.isSafeInteger(place) ||
    typeof kind !== 'string' ||
    typeof ref !== 'string' ||
    typeof balance !== 'string' ||
    !/^-?\d{1,19}$/.test(balance)
  )
    throw invalid('before', "'before' must be the 'next' of a page of movements.")
  return { place, kind, ref, balance: BigInt(balance) }
}
