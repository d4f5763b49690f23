/** The lines of a file, in constant memory: it is read in parts, and each line is given with its place. */
import type { Uploads } from '../../assets/uploads.ts'
import { refuse } from '../../core/refusal.ts'

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

export const fileGone = () =>
  refuse('not_found', 'The file with the lines was deleted, or is no longer kept. Upload it again.')
