/** How a socket of responses tells what went wrong, in the events by which its clients know what to do. */
import { isObject, parseJson } from '../../core/json-body.ts'
import { type Refusal, refusalBody } from '../../core/refusal.ts'
import { refusalTable } from '../../core/refusal-table.ts'
import { refusalFor } from '../../gateway/answer/refusal-for.ts'
import type { Gateway } from '../../gateway/parts/gateway.ts'
import type { Trace } from '../../gateway/parts/trace.ts'
import { endRefused } from '../app.ts'

/** What a vendor's error in mid-answer is. */
const BROKEN = 'upstream_error'
/** The code by which clients know to open another socket. */
const NEW_SOCKET = 'websocket_connection_limit_reached'
/** The code by which clients know to send the whole conversation again. */
const UNKNOWN_BEFORE = 'previous_response_not_found'

/** The answer of a socket that takes no more requests. */
export const newSocket = {
  type: 'error',
  status: 400,
  error: {
    type: 'invalid_request_error',
    code: NEW_SOCKET,
    message: 'This socket takes no more requests; open another one.',
    param: null,
  },
} as const

export const refusedEvent = (refusal: Refusal, requestId: string) => {
  const { error } = refusalBody(refusal, requestId)
  const { param = null } = refusal.members
  const code = param === 'previous_response_id' ? UNKNOWN_BEFORE : refusal.code
  const headers = { 'x-request-id': requestId, ...refusal.headers }
  return { type: 'error', status: refusal.status, error: { ...error, param, code }, headers }
}

/** An error in a stream, with the members by which clients of a socket know that the turn has ended. */
export const wrappedError = (data: string): string => {
  const event = parseJson(data)
  if (!isObject(event) || event.type !== 'error' || isObject(event.error)) return data
  const { code = null, message = null, param = null } = event
  const { status, type } = refusalTable[BROKEN]
  return JSON.stringify({ ...event, status, error: { type, code, message, param } })
}

/** A request ends with what was thrown: it is counted, and has its line in the log. */
export const endThrown = (gateway: Gateway, trace: Trace, thrown: unknown): Refusal => {
  const refusal = refusalFor(gateway, trace, thrown)
  endRefused(gateway, trace, refusal)
  return refusal
}
