/**
 * Sends a file to a reader: it is read only as fast as the reader takes it, and a reader that takes nothing for long
 * counts as gone.
 */
import type { ByteStream } from '../../gateway/parts/answer.ts'
import type { Gateway } from '../../gateway/parts/gateway.ts'
import { newPace } from '../../gateway/parts/patience.ts'
import { endStream } from '../../gateway/parts/trace.ts'
import type { HttpCall } from '../route/route.ts'

/** The pieces as the body of an answer; however it ends, the file is closed and the call gets its log line. */
export const sendPieces = (
  gateway: Gateway,
  { request, trace }: Pick<HttpCall, 'request' | 'trace'>,
  pieces: AsyncIterableIterator<Uint8Array>,
): ByteStream => {
  const pace = newPace()
  const finish = async (ended?: string): Promise<void> => {
    if (pace.over) return
    gateway.memory.patience.end(pace)
    if (ended !== undefined) trace.ended = ended
    await pieces.return?.()
    endStream(trace)
  }
  const gone = () => void finish('client_gone')
  if (request.signal.aborted) gone()
  else request.signal.addEventListener('abort', gone, { once: true })
  gateway.memory.patience.watch(pace, gone)
  const stream: ByteStream = {
    next: async () => {
      pace.taken++
      pace.offered = false
      if (pace.over) return { done: true, value: undefined }
      try {
        const piece = await pieces.next()
        pace.offered = true
        if (piece.done === true) await finish()
        return piece
      } catch (error) {
        await finish('storage_failed')
        throw error
      }
    },
    return: async () => {
      await finish('client_gone')
      return { done: true, value: undefined }
    },
    [Symbol.asyncIterator]: () => stream,
  }
  return stream
}
