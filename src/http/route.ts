/** What a route is: an address, what its reference says of it, and the handler that answers. */
import type { Answer } from '../gateway/answer.ts'
import type { Gateway } from '../gateway/gateway.ts'
import type { Trace } from '../gateway/trace.ts'

/** One request on its way through a handler. */
export type HttpCall = {
  readonly request: Request
  readonly params: Readonly<Record<string, string>>
  readonly query: string
  /** The address at the other end of the connection; a proxy's, where there is one. */
  readonly peer: () => string | undefined
  readonly trace: Trace
}

export type Handler = (gateway: Gateway, call: HttpCall) => Promise<Answer>

export type Route = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Segments that begin with a colon are parameters; a last segment `*name` takes the rest of the path. */
  readonly path: string
  readonly summary: string
  readonly auth: 'bearer' | 'none'
  /** The API style of the address: its errors have that style's shape. */
  readonly dialect?: 'messages' | 'gemini'
  /** A helper endpoint of the specification: the `error` of its errors is a string. */
  readonly helper?: true
  /** Names of the schemas in docs of the request body and the answer. */
  readonly body?: string
  readonly answer: string
  /** 200 where it is not said. */
  readonly status?: 101 | 201
  /** Headers the request may carry beside the credential. */
  readonly headers?: readonly string[]
  readonly query?: readonly string[]
  readonly handler: Handler
}
