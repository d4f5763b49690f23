/** A request of a program and its answer, as the tap records them. */
import type { JsonObject } from '../../src/core/json-body.ts'

export type Exchange = {
  readonly method: string
  readonly path: string
  readonly headers: Headers
  readonly body: JsonObject
  status: number
  answered: Headers
  /** The answer as far as it arrived. */
  answer: string
  /** The socket on which it came; each has its own number. */
  readonly socket?: number
  /** The items that came with it; the body has the whole conversation. */
  readonly own?: number
}
