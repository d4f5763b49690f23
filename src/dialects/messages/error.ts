/** Messages, errors: this dialect's shape and types, with the specification's code kept inside. Source of the format: Anthropic API reference, "Errors". */
import type { JsonObject } from '../../core/json-body.ts'
import type { Refusal } from '../../core/refusal.ts'
import { refusalBody } from '../../core/refusal.ts'

const byStatus: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  409: 'conflict_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  500: 'api_error',
  503: 'overloaded_error',
}

const byCode: Readonly<Record<string, string>> = { upstream_error: 'api_error' }

/**
 * The `type` of an error in mid-stream, from the specification's error object: its HTTP status has already been sent.
 */
export const errorTypeOf = (error: JsonObject): string => byCode[String(error.code)] ?? 'overloaded_error'

/** This tells the client that it must continue without a thread. */
const noThreads = { error_code: 'thread_unsupported_request', unsupported: ['thread'] }

export const messagesError = (refusal: Refusal, requestId: string): JsonObject => {
  const { error } = refusalBody(refusal, requestId)
  const type = byStatus[refusal.status] ?? 'invalid_request_error'
  return {
    type: 'error',
    error: refusal.members.param === 'thread' ? { ...error, type, details: noThreads } : { ...error, type },
    request_id: requestId,
  }
}
