/**
 * Chat completions, the older form of tools: `functions` in the request and `function_call` in the answer, one at most.
 * Source of the format: OpenAI API reference, "Create chat completion", deprecated members.
 */
import type { JsonObject } from '../../core/json-body.ts'
import type { Finish } from '../neutral.ts'

/** Whether a request is of the older form, so that its caller reads no other. */
export const asksOlder = ({ functions, tools }: JsonObject): boolean =>
  Array.isArray(functions) && functions.length > 0 && !(Array.isArray(tools) && tools.length > 0)

/** Members of a message or a delta: calls of tools in the form that the caller asked in. */
export const callsIn = (older: boolean, calls: readonly JsonObject[]): JsonObject => {
  if (calls.length === 0) return {}
  return older ? { function_call: calls[0]?.function } : { tool_calls: calls }
}

/** The `finish_reason` of a neutral finish, in the form that the caller asked in. */
export const reasonOf = (older: boolean, finish: Finish): string =>
  older && finish === 'tool_calls' ? 'function_call' : finish === 'stop_sequence' ? 'stop' : finish
