/** Generate content, errors: this dialect's shape and status words, with the specification's code kept inside. Source of the format: Google AIP-193, "Errors". */
import type { Json, JsonObject } from '../../core/json-body.ts'
import { type Refusal, refusalBody } from '../../core/refusal.ts'
import { textOf } from '../request/json-members.ts'

const statusNames: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  402: 'FAILED_PRECONDITION',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  409: 'ABORTED',
  412: 'FAILED_PRECONDITION',
  413: 'INVALID_ARGUMENT',
  429: 'RESOURCE_EXHAUSTED',
  500: 'INTERNAL',
  503: 'UNAVAILABLE',
}

/**
 * Why a candidate that ended for this reason is no answer: it mostly says nothing, and told as one it would end a session.
 * A call of a tool that was not offered is one if it is there: its caller can answer it.
 */
export const faultOf = (reason: Json | undefined, callsTools: boolean): string | undefined => {
  if (reason === 'UNEXPECTED_TOOL_CALL' && !callsTools) return 'the model called a tool that was not offered'
  return textOf(reason)?.startsWith('MALFORMED_') === true
    ? 'the model wrote a call of a tool that its vendor cannot read'
    : undefined
}

/** `error` is the error object of the specification. */
export const geminiError = (error: JsonObject, status: number): JsonObject => {
  const { message, code, type: _type, ...members } = error
  return {
    error: {
      code: status,
      message: message ?? '',
      status: statusNames[status] ?? 'FAILED_PRECONDITION',
      details: [
        {
          '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
          reason: code ?? '',
          domain: 'turnpike',
          metadata: Object.fromEntries(
            Object.entries(members).map(([name, value]) => [name, textOf(value) ?? JSON.stringify(value)]),
          ),
        },
      ],
    },
  }
}

export const geminiRefusal = (refusal: Refusal, requestId: string): JsonObject =>
  geminiError(refusalBody(refusal, requestId).error, refusal.status)
