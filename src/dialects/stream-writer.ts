/** How a dialect writes a stream to its caller, step by step. */
import type { JsonObject } from '../core/json-body.ts'
import type { Billed } from './bill-members.ts'
import type { Piece } from './neutral.ts'

export type Ending = Billed & {
  /** The stream ends because the money ran out: the caller sees a stop for length. */
  readonly cut: boolean
  /** The caller asked for the usage of the stream. */
  readonly showUsage: boolean
  /** What of the answer was not carried, for dialects whose streams have no comments. */
  readonly notCarried?: readonly string[]
}

export type StreamWriter = {
  /** The text of one step; empty for what is said at the end. */
  write(piece: Piece): string
  /** What ends the stream, with slots for what is only known once it is paid. */
  end(ending: Ending): string
  /** The event of an error in mid-stream; `error` is the error object of the specification. */
  fail(error: JsonObject): string
}

/** What every dialect's writer gets at the start. */
export type WriterContext = {
  /** The id of the answer, if the vendor gave none. */
  readonly requestId: string
  /** Seconds since 1970. */
  readonly created: number
  /** The model as the caller named it. */
  readonly modelName: string
  /** An estimate of the input's tokens, until the vendor has counted them. */
  readonly estimatedInput: () => number
  /** The caller's request, for answers that repeat parts of it. */
  readonly request: JsonObject
  /** Makes a summary unreadable for all but us. */
  readonly seal: (summary: string) => string
}
