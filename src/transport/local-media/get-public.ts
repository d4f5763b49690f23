/** The bytes at an address in a caller's input, fetched like results: only from public servers, within bounds. */
import { concat } from '../../core/json-body.ts'
import { NotPublic, type PublicParts } from '../public-address.ts'
import { FetchFault, fetchPublic } from '../public-fetch.ts'

const TIMEOUT_MS = 30_000

/** The bytes at the address, at most `bytesMax`. Rejects, also on the signal, with an Error whose text may be shown. */
export const getPublic = async (
  parts: PublicParts,
  url: string,
  bytesMax: number,
  leaving?: AbortSignal,
): Promise<Uint8Array<ArrayBuffer>> => {
  const pieces: Uint8Array[] = []
  const times = { idleMs: TIMEOUT_MS, totalMs: TIMEOUT_MS }
  try {
    for await (const piece of fetchPublic(parts, { url, bytesMax, ...times, leaving })) pieces.push(piece)
  } catch (fault) {
    throw new Error(whyNot(fault, bytesMax), { cause: fault })
  }
  return new Uint8Array(concat(pieces))
}

/** Follows the name of the input in the message. */
const whyNot = (fault: unknown, bytesMax: number): string => {
  if (!(fault instanceof FetchFault)) return 'could not be fetched'
  if (fault.kind === 'too large') return `is larger than ${bytesMax} bytes`
  if (fault.status !== undefined) return `could not be fetched: its server answers ${fault.status}`
  if (fault.cause instanceof NotPublic) return 'leads to an address that is not public https'
  return fault.kind === 'refused' ? `may not be fetched: ${fault.why}` : 'could not be fetched'
}
