/** What a route is: an address, what its reference says of it, and the handler that answers. */
import type { z } from 'zod'
import type { Answer } from '../gateway/answer.ts'
import type { Gateway } from '../gateway/gateway.ts'
import type { Trace } from '../gateway/trace.ts'
import type { HeaderReader } from './headers.ts'

/** One request on its way through a handler. */
export type HttpCall = {
  readonly request: Request
  /** The request's headers, of which those that may stand there once were read. */
  readonly headers: HeaderReader
  readonly params: Readonly<Record<string, string>>
  readonly query: string
  /** The address at the other end of the connection; a proxy's, where there is one. */
  peer(): string | undefined
  readonly trace: Trace
}

export type Handler = (gateway: Gateway, call: HttpCall) => Promise<Answer>

export type Route = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Segments that begin with a colon are parameters; a last segment `*name` takes the rest of the path. */
  readonly path: string
  readonly summary: string
  /** `session`: the cookie of somebody who signed in to the console; no key opens it, and it opens no call. */
  readonly auth: 'bearer' | 'session' | 'none'
  /** The API style of the address: its errors have that style's shape. */
  readonly dialect?: 'messages' | 'gemini'
  /** A helper endpoint of the specification: the `error` of its errors is a string. */
  readonly helper?: true
  /** It does nothing but run calls of models, which an overloaded process turns away. */
  readonly runs?: true
  /** What the request's body is. Bodies of model calls are read by their dialect; others by `withBody`. */
  readonly body?: z.ZodType
  /** What a whole answer is; each schema of a row has an `id`, its name in the reference. */
  readonly answer: z.ZodType
  /** The media type of a good answer that is not JSON, such as `audio/*`; `answer` then says what it holds. */
  readonly answerType?: string
  /** What each event of a stream is, where the answer may be one. */
  readonly event?: z.ZodType
  /** What a 402 or a 503 may be instead of an error. */
  readonly instead?: z.ZodType
  /** Of good answers; 200 alone where it is not said. */
  readonly statuses?: readonly (101 | 200 | 201 | 202 | 204 | 302)[]
  /** Headers the request may carry beside the credential. */
  readonly headers?: readonly string[]
  readonly query?: readonly string[]
  readonly handler: Handler
}
