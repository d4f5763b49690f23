/**
 * Framing of event streams: bytes in any pieces → whole events with their bytes and their data.
 * Source of the format: WHATWG HTML, "Server-sent events".
 */
import { isAscii } from 'node:buffer'
import { concat } from '../core/json-body.ts'
import { VendorFault } from './vendor-fault.ts'

/** One event: its bytes with the blank line that ends it, and the text of its `data` lines. */
export type StreamEvent = { readonly bytes: Uint8Array; readonly data: string }

const LF = 0x0a
const CR = 0x0d

/** A larger event is the vendor's fault: it would only fill memory. */
const EVENT_BYTES_MAX = 16 * 1024 * 1024

const utf8 = new TextDecoder()
const NOTHING: Uint8Array = new Uint8Array()
const NONE: readonly StreamEvent[] = []

/** An event's end spans at most so many bytes of the pieces before. */
const SEAM = 2

/**
 * Makes a splitter for one stream. Feed it pieces as they arrive; it returns the events that are complete. Lines may
 * end in LF, CR LF or CR, even mixed; comments and unknown fields yield events with empty data. `skip` may take an
 * event at a given place itself: it returns the event's end, or -1. The data of such an event is not read.
 */
export const eventSplitter = (skip: (bytes: Uint8Array, start: number) => number = () => -1) => {
  let rest = NOTHING
  /** What came after it. No event ends there, so it is joined only when one does: an event costs its bytes once. */
  let more: Uint8Array[] = []
  let waiting = 0
  let seam = NOTHING
  const wait = (length: number): void => {
    waiting = length
    if (length > EVENT_BYTES_MAX)
      throw new VendorFault('body', `an event of more than ${EVENT_BYTES_MAX} bytes`)
  }
  /** Whether the event that waits ends in this piece; the pieces before it are not searched again. */
  const endsIn = (piece: Uint8Array): boolean => {
    const border = concat([seam, piece.subarray(0, SEAM)])
    seam = piece.length < SEAM ? border.subarray(-SEAM) : piece.subarray(-SEAM)
    return eventEnd(border, 0) >= 0 || eventEnd(piece, 0) >= 0
  }
  const feed = (piece: Uint8Array): readonly StreamEvent[] => {
    let bytes = piece
    if (waiting > 0) {
      const ends = endsIn(piece)
      more.push(piece)
      if (!ends) {
        wait(waiting + piece.length)
        return NONE
      }
      bytes = concat([rest, ...more])
      more = []
    }
    const events: StreamEvent[] = []
    const text = reader(bytes)
    let start = 0
    for (;;) {
      const skipped = skip(bytes, start)
      const end = skipped < 0 ? eventEnd(bytes, start) : skipped
      if (end < 0) break
      const data = skipped < 0 ? dataOf(text(start, end)) : ''
      events.push({ bytes: start === 0 && end === bytes.length ? bytes : bytes.subarray(start, end), data })
      start = end
    }
    rest = start === bytes.length ? NOTHING : bytes.subarray(start)
    if (rest.length > 0) seam = rest.subarray(-SEAM)
    wait(rest.length)
    return events
  }
  return {
    feed,
    /**
     * The bytes after the last complete event: a stream that ends here was cut off, or left out its last blank line.
     */
    remainder: (): StreamEvent | undefined => {
      const bytes = concat([rest, ...more])
      return bytes.length === 0 ? undefined : { bytes, data: dataOf(utf8.decode(bytes)) }
    },
  }
}

/** Index after the blank line that ends the event at `start`; -1 when it is not there yet. */
const eventEnd = (bytes: Uint8Array, start: number): number => {
  let at = start
  for (;;) {
    at = bytes.indexOf(LF, at)
    if (at < 0) return crEventEnd(bytes, start)
    const next = bytes[at + 1]
    if (next === LF) return at + 2
    if (next === CR && bytes[at + 2] === LF) return at + 3
    at++
  }
}

/** For the rare streams whose lines end in a bare CR. */
const crEventEnd = (bytes: Uint8Array, start: number): number => {
  let at = start
  for (;;) {
    at = bytes.indexOf(CR, at)
    if (at < 0 || at + 1 >= bytes.length) return -1
    if (bytes[at + 1] === CR) return at + 2
    at++
  }
}

const DATA = /^data:?/

/** Reads parts of a piece as text. Where each byte is one character the piece is decoded once for all its events. */
const reader = (bytes: Uint8Array) => {
  let whole: string | false | undefined
  return (start: number, end: number): string => {
    whole ??= isAscii(bytes) && utf8.decode(bytes)
    return whole === false ? utf8.decode(bytes.subarray(start, end)) : whole.slice(start, end)
  }
}

const dataOf = (text: string): string => {
  // Most events are one `data: {…}` line, some after one with their name: take it without splitting.
  const from = text.startsWith('event:') ? text.indexOf('\n') + 1 : 0
  if (text.startsWith('data: ', from) && text.indexOf('\n', from) === text.length - 2 && !text.includes('\r'))
    return text.slice(from + 6, -2)
  const lines: string[] = []
  for (const line of text.split(/\r\n|\n|\r/)) {
    if (!DATA.test(line) || (line.length > 4 && line[4] !== ':')) continue
    const value = line.slice(5)
    lines.push(value.startsWith(' ') ? value.slice(1) : value)
  }
  return lines.join('\n')
}
