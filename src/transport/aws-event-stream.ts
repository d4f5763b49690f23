/**
 * Framing of Amazon's binary event streams: bytes in any pieces → whole events, with their payload wrapped under the
 * event's name. Source of the format: AWS SDK documentation, "Amazon event stream encoding".
 */
import { concat } from '../core/json-body.ts'
import type { StreamEvent } from './event-stream.ts'
import { VendorFault } from './vendor-fault.ts'

const PRELUDE = 12
const CHECKSUM = 4
const MESSAGE_BYTES_MAX = 16 * 1024 * 1024
const STRING = 7

const utf8 = new TextDecoder()

const NONE: readonly StreamEvent[] = []

/**
 * Makes a splitter for one stream, with the interface of the splitter of text streams. Throws VendorFault at damaged
 * bytes.
 */
export const awsEventSplitter = () => {
  /** What came and is not read yet. It is joined only when a message can be read, so a message costs its bytes once. */
  let waiting: Uint8Array[] = []
  let held = 0
  /** How many bytes that takes: those that say the message's length, then the whole message. */
  let needed = PRELUDE
  return {
    feed: (piece: Uint8Array): readonly StreamEvent[] => {
      waiting.push(piece)
      held += piece.length
      if (held < needed) return NONE
      const bytes = waiting.length === 1 ? piece : concat(waiting)
      const events: StreamEvent[] = []
      let at = 0
      needed = PRELUDE
      while (bytes.length - at >= PRELUDE) {
        const length = new DataView(bytes.buffer, bytes.byteOffset + at).getUint32(0)
        if (length > MESSAGE_BYTES_MAX) throw new VendorFault('body', `a message of ${length} bytes`)
        if (length < PRELUDE + CHECKSUM) throw new VendorFault('body', 'a message shorter than its frame')
        if (bytes.length - at < length) {
          needed = length
          break
        }
        events.push(eventOf(bytes.subarray(at, at + length)))
        at += length
      }
      held = bytes.length - at
      waiting = held === 0 ? [] : [bytes.subarray(at)]
      return events
    },
    remainder: (): StreamEvent | undefined => undefined,
  }
}

const eventOf = (message: Uint8Array): StreamEvent => {
  const view = new DataView(message.buffer, message.byteOffset, message.length)
  const headersEnd = PRELUDE + view.getUint32(4)
  const end = message.length - CHECKSUM
  if (headersEnd > end || Bun.hash.crc32(message.subarray(0, end)) !== view.getUint32(end))
    throw new VendorFault('body', 'a message whose checksum does not hold')
  const headers = headersOf(message, headersEnd)
  const payload = utf8.decode(message.subarray(headersEnd, end))
  const failed = headers.get(':message-type') !== 'event'
  const name = failed ? 'error' : (headers.get(':event-type') ?? 'unknown')
  return { bytes: message, data: `{${JSON.stringify(name)}:${payload === '' ? '{}' : payload}}` }
}

/** All headers we need are strings; at another type reading stops, because we need nothing after it. */
const headersOf = (message: Uint8Array, end: number): Map<string, string> => {
  const headers = new Map<string, string>()
  let at = PRELUDE
  while (at < end) {
    const nameEnd = at + 1 + (message[at] ?? 0)
    if (message[nameEnd] !== STRING) break
    const valueStart = nameEnd + 3
    const length = ((message[nameEnd + 1] ?? 0) << 8) | (message[nameEnd + 2] ?? 0)
    headers.set(
      utf8.decode(message.subarray(at + 1, nameEnd)),
      utf8.decode(message.subarray(valueStart, valueStart + length)),
    )
    at = valueStart + length
  }
  return headers
}
