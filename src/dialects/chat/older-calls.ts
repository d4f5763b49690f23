/**
 * Chat completions, the older form of tools: `functions` in the request and `function_call` in the answer, at most one.
 * Source of the format: OpenAI API reference, "Create chat completion", deprecated members.
 */
import type { JsonObject } from '../../core/json-body.ts'
import type { Finish } from '../neutral.ts'

/** Whether a request uses the older form; then its caller reads no other. */
export const asksOlder = ({ functions, tools }: JsonObject): boolean =>
  Array.isArray(functions) && functions.length > 0 && !(Array.isArray(tools) && tools.length > 0)

/** Tool calls as members of a message or delta, in the form that the caller used. */
export const callsIn = (older: boolean, calls: readonly JsonObject[]): JsonObject => {
  if (calls.length === 0) return {}
  return older ? { function_call: calls[0]?.function } : { tool_calls: calls }
}

/** The `finish_reason` for a neutral finish, in the form that the caller used. */
export const reasonOf = (older: boolean, finish: Finish): string =>
  older && finish === 'tool_calls' ? 'function_call' : finish === 'stop_sequence' ? 'stop' : finish
