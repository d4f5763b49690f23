/**
 * Reads forms as they arrive, in constant memory: one part after the other, each in pieces. Source: RFC 7578, RFC 2046.
 */
import { invalid, type Refusal } from '../../core/refusal.ts'

type FormPart = {
  readonly name: string
  /** Only for parts that are files. */
  readonly filename: string | undefined
  /** Unread pieces are skipped when the next part is requested. */
  readonly pieces: AsyncGenerator<Uint8Array>
}

const BOUNDARY = /^multipart\/form-data\s*;.*\bboundary="?([^";,]{1,70})"?/i

/** The boundary of a form, from its Content-Type; undefined if it is not a form. */
export const boundaryOf = (contentType: string | null): string | undefined =>
  BOUNDARY.exec(contentType ?? '')?.[1]

const PARTS_MAX = 32
/** The most bytes in the head of a part, and before the first part. */
const HEAD_MAX = 8_192
const PREAMBLE_MAX = 1_024

const broken = (): Refusal => invalid('body', 'The body is not the form that its Content-Type announces.')

type Window = {
  /** The bytes before the next `mark`, as they arrive; at most `most` bytes, if given. */
  readonly before: (mark: Buffer, most?: number) => AsyncGenerator<Uint8Array>
  /** Takes exactly this many bytes. */
  readonly take: (length: number) => Promise<Buffer>
}

const viewOf = ({ buffer, byteOffset, byteLength }: Uint8Array): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength)

/** A window on arriving bytes. It holds back as many as could be the beginning of a mark. */
const windowOn = (source: AsyncIterator<Uint8Array>): Window => {
  // Every boundary begins with a line break, except the first one of a body.
  let held: Buffer = Buffer.from('\r\n')
  const more = async (): Promise<void> => {
    const { done, value } = await source.next()
    if (done === true) throw broken()
    held = held.length === 0 ? viewOf(value) : Buffer.concat([held, value])
  }
  return {
    async *before(mark, most = Number.POSITIVE_INFINITY) {
      for (let given = 0; ; await more()) {
        const at = held.indexOf(mark)
        const sure = at < 0 ? Math.max(0, held.length - mark.length + 1) : at
        given += sure
        if (given > most) throw broken()
        const piece = held.subarray(0, sure)
        held = held.subarray(at < 0 ? sure : at + mark.length)
        if (piece.length > 0) yield piece
        if (at >= 0) return
      }
    },
    take: async (length) => {
      while (held.length < length) await more()
      const taken = held.subarray(0, length)
      held = held.subarray(length)
      return taken
    },
  }
}

/** All of the pieces, for parts that are small. */
export const textOf = async (pieces: AsyncIterable<Uint8Array>, most: number): Promise<string> => {
  const all: Uint8Array[] = []
  let length = 0
  for await (const piece of pieces) {
    length += piece.length
    if (length > most) throw broken()
    all.push(piece)
  }
  return new TextDecoder().decode(Buffer.concat(all))
}

/** The parts in order. Throws the Refusal if this is not a form. */
export async function* formParts(
  source: AsyncIterator<Uint8Array>,
  boundary: string,
): AsyncGenerator<FormPart> {
  const window = windowOn(source)
  const mark = Buffer.from(`\r\n--${boundary}`)
  await passOver(window.before(mark, PREAMBLE_MAX))
  for (let parts = 0; ; parts++) {
    const end = (await window.take(2)).toString('latin1')
    if (end === '--') return
    if (end !== '\r\n') throw broken()
    if (parts === PARTS_MAX) throw invalid('body', `A form may have at most ${PARTS_MAX} parts.`)
    // A part without headers would begin with the empty line; no client sends that.
    const head = await textOf(window.before(Buffer.from('\r\n\r\n'), HEAD_MAX), HEAD_MAX)
    const pieces = window.before(mark)
    yield { ...namesOf(head), pieces }
    await passOver(pieces)
  }
}

const passOver = async (pieces: AsyncIterable<Uint8Array>): Promise<void> => {
  for await (const _piece of pieces);
}

const namesOf = (head: string): Pick<FormPart, 'name' | 'filename'> => {
  const [line] = head.split('\r\n').filter((one) => /^content-disposition:\s*form-data\b/i.test(one))
  const name = valueAt(line, 'name')
  if (name === undefined) throw broken()
  return { name, filename: valueAt(line, 'filename') }
}

/**
 * A parameter: without quotes, as .NET writes a plain word; quoted, unescaped as browsers escape it; or as RFC 8187 has it
 * (`filename*=utf-8''…`). Forms should not have the last one, but where a name is not ASCII .NET's is readable only there.
 */
const valueAt = (line = '', name: string): string | undefined => {
  const [, quoted, word] = new RegExp(`;\\s*${name}=(?:"([^"]*)"|([^\\s;"]+))`, 'i').exec(line) ?? []
  const plain = word ?? quoted?.replaceAll('%22', '"').replaceAll('%0D', '\r').replaceAll('%0A', '\n')
  const [, extended] = new RegExp(`;\\s*${name}\\*=[^\\s;']*'[^\\s;']*'([^\\s;]+)`, 'i').exec(line) ?? []
  return extended === undefined ? plain : (decoded(extended) ?? plain ?? extended)
}

const decoded = (text: string): string | undefined => {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}
