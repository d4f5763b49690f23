/** A route: an address, its description in the reference, and the handler that answers. */
import type { z } from 'zod'
import type { Answer } from '../../gateway/parts/answer.ts'
import type { Gateway } from '../../gateway/parts/gateway.ts'
import type { Trace } from '../../gateway/parts/trace.ts'
import type { HeaderReader } from './headers.ts'

/** One request on its way through a handler. */
export type HttpCall = {
  readonly request: Request
  /** The request's headers; those that may occur only once have been read. */
  readonly headers: HeaderReader
  readonly params: Readonly<Record<string, string>>
  readonly query: string
  /** The address at the other end of the connection, which may be a proxy's. */
  peer(): string | undefined
  readonly trace: Trace
}

export type Handler = (gateway: Gateway, call: HttpCall) => Promise<Answer>

export type Route = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Segments that begin with a colon are parameters; a last segment `*name` matches the rest of the path. */
  readonly path: string
  readonly summary: string
  /**
   * `session`: the cookie of a person signed in to the console; no API key is accepted, and the cookie cannot make
   * calls. `machine`: the credential of a machine of the operator, as a bearer token.
   */
  readonly auth: 'bearer' | 'session' | 'machine' | 'none'
  /** The API style of the address: its errors have that style's shape. */
  readonly dialect?: 'messages' | 'gemini' | 'interactions' | 'cohere' | 'ollama'
  /** A helper endpoint of the specification: in its errors, `error` is a string. */
  readonly helper?: true
  /** It only runs model calls, which an overloaded process turns away. */
  readonly runs?: true
  /** The schema of the request's body. Bodies of model calls are read by their dialect, others by `withBody`. */
  readonly body?: z.ZodType
  /** A request may come without a body, which is then `{}`. */
  readonly bodyOptional?: true
  /** The schema of a whole answer; each schema of a row has an `id`, its name in the reference. */
  readonly answer: z.ZodType
  /** The media type of a successful answer that is not JSON, such as `audio/*`; `answer` then says what it contains. */
  readonly answerType?: string
  /** The schema of each event, if the answer may be a stream. */
  readonly event?: z.ZodType
  /** The media type of such a stream, if it is not `text/event-stream`. */
  readonly eventType?: string
  /** The schema of a refusal that is not an error body of ours. */
  readonly instead?: z.ZodType
  /** Statuses of successful answers; only 200 by default. */
  readonly statuses?: readonly (101 | 200 | 201 | 202 | 204 | 302)[]
  /** Headers the request may carry beside the credential. */
  readonly headers?: readonly string[]
  readonly query?: readonly string[]
  /** Amounts in its answer are decimal texts, not numbers. */
  readonly money?: 'text'
  /** What answers clients of Google, which send `x-goog-api-key`, at an address that others use too. */
  readonly google?: Route
  /** The same for Cohere's clients, which name themselves (`X-Fern-SDK-Name`). */
  readonly cohere?: Route
  /** The same for clients of messages, which send `anthropic-version`. */
  readonly messages?: Route
  readonly handler: Handler
}

/** A row that clients of messages use too: refusals and the id of the request reach them in their own style. */
export const alsoOfMessages = (route: Route): Route => ({
  ...route,
  messages: { ...route, dialect: 'messages' },
})

/** The address of a row, such as `GET /v1/models`. */
export const at = (address: `${Route['method']} /${string}`): Pick<Route, 'method' | 'path'> => {
  const [method, path] = address.split(' ', 2) as [Route['method'], string]
  return { method, path }
}

/** The address of a row for callers with a key. */
export const byKey = (address: Parameters<typeof at>[0]) => ({ ...at(address), auth: 'bearer' as const })
