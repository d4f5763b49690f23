/** A request body piece by piece, for bodies too large to hold in memory: bounded in bytes and in time. */
import { refuse } from '../../core/refusal.ts'
import type { Gateway } from '../../gateway/parts/gateway.ts'
import { withinTime } from '../../transport/watch.ts'
import type { HttpCall } from '../route/route.ts'
import { brokeOff, tooLarge, tooSlow } from './read-body.ts'

/** The longest time for a whole body; between two pieces the limit is BODY_SECONDS. */
const TOTAL_MS = 15 * 60_000

/** Reads on demand; stopping early ends the reading. Throws the Refusal that names what is wrong. */
export async function* bodyPieces(
  gateway: Gateway,
  { request: { headers, body } }: HttpCall,
  bytesMax: number,
): AsyncGenerator<Uint8Array> {
  const encoding = headers.get('content-encoding')
  if (encoding !== null && encoding !== 'identity')
    throw refuse('unsupported_media_type', "Send the body uncompressed, without 'Content-Encoding'.")
  if (Number(headers.get('content-length') ?? 0) > bytesMax) throw tooLarge(bytesMax)
  if (body === null) return
  const reader = body.getReader()
  const { bodyMs } = gateway.options
  const until = gateway.clock.monotonicMs() + TOTAL_MS
  try {
    for (let bytes = 0; ; ) {
      const { done, value } = await withinTime(reader.read().catch(brokeOff), bodyMs, () => tooSlow(bodyMs))
      if (done) return
      bytes += value.length
      if (bytes > bytesMax) throw tooLarge(bytesMax)
      if (gateway.clock.monotonicMs() > until) throw tooSlow(TOTAL_MS)
      yield value
    }
  } finally {
    void reader.cancel().catch(() => undefined)
  }
}
