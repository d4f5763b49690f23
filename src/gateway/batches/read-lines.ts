/** The lines of a file, in constant memory: it is read in parts, and each line is given with its place. */
import type { Assets } from '../../assets/assets.ts'
import type { Uploads } from '../../assets/uploads.ts'
import { refuse } from '../../core/refusal.ts'
import type { SentLine } from '../../store/batches/batch-port.ts'

const PART_BYTES = 1024 * 1024
const NEW_LINE = 10

type FileLine = {
  /** Counted from 1, as editors do. */
  readonly n: number
  readonly at: number
  readonly bytes: Uint8Array
}

type LinesOf = { readonly id: string; readonly size: number; readonly lineMax: number }

const isBlank = (bytes: Uint8Array): boolean =>
  bytes.every((byte) => byte === 32 || byte === 13 || byte === 9)

/** All lines that are not blank. Throws the Refusal of a line that is too long, or of a file that is gone. */
export async function* linesOf(
  { part }: Pick<Uploads, 'part'>,
  { id, size, lineMax }: LinesOf,
): AsyncGenerator<FileLine> {
  let n = 1
  let rest: Uint8Array = new Uint8Array()
  let restAt = 0
  for (let at = 0; at < size; at += PART_BYTES) {
    const read = await part(id, { first: at, last: Math.min(at + PART_BYTES, size) - 1 })
    if (read === undefined) throw fileGone()
    const bytes = rest.length === 0 ? read : Buffer.concat([rest, read])
    let from = 0
    for (let end = bytes.indexOf(NEW_LINE); end >= 0; end = bytes.indexOf(NEW_LINE, from)) {
      const line = bytes.subarray(from, end)
      if (!isBlank(line)) yield { n, at: restAt + from, bytes: line }
      from = end + 1
      n++
    }
    rest = bytes.subarray(from)
    restAt += from
    if (rest.length > lineMax)
      throw refuse(
        'request_too_large',
        `Line ${n}: a line may have at most ${lineMax} bytes (BODY_BYTES_MAX).`,
      )
  }
  if (!isBlank(rest)) yield { n, at: restAt, bytes: rest }
}

const fileGone = () =>
  refuse('not_found', 'The file with the lines was deleted, or is no longer kept. Upload it again.')

/** Reads one line of a batch. Throws the Refusal of a file that is gone. */
export type ReadLine = (line: Pick<SentLine, 'at' | 'bytes'>) => Promise<Uint8Array>

/**
 * Reads lines of a batch, from a span of at least that many bytes: for lines that lie one after the other. Lines that are
 * asked for at once wait for the same span.
 */
export const lineReader = (
  { uploads }: Pick<Assets, 'uploads'>,
  input: string,
  least = PART_BYTES,
): ReadLine => {
  let span = { from: 0, to: 0, bytes: Promise.resolve<Uint8Array | undefined>(undefined) }
  return async ({ at, bytes }) => {
    const to = at + bytes
    if (at < span.from || to > span.to) {
      const end = at + Math.max(bytes, least)
      span = { from: at, to: end, bytes: uploads.part(input, { first: at, last: end - 1 }) }
    }
    const { from, bytes: reading } = span
    try {
      const read = await reading
      if (read === undefined) throw fileGone()
      return read.subarray(at - from, to - from)
    } catch (error) {
      // The next line reads again.
      if (span.bytes === reading) span = { ...span, to: 0 }
      throw error
    }
  }
}
