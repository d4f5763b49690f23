/** Responses, errors inside an answer. Source of the format: OpenAI API reference, "The response object", `error`, and "Streaming events". */
import { isObject, type JsonObject } from '../../core/json-body.ts'
import { objectOf, textOf } from '../request/json-members.ts'

/** The error in an event that ends a stream with a failure. */
export const errorIn = (event: JsonObject): JsonObject => {
  if (event.type === 'response.failed') return objectOf(objectOf(event.response).error)
  return isObject(event.error) ? event.error : { code: event.code, message: event.message }
}

/** Whether the vendor refused the prompt for its content. */
export const isBlockedBy = ({ code }: JsonObject): boolean =>
  /^invalid_prompt$|polic|content_filter/.test(textOf(code) ?? '')
