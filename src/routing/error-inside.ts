/** An error that a vendor sends inside an answer with status 200: whole, or as the first event of a stream. */
import { isObject, type JsonObject, parseJson } from '../core/json-body.ts'

/** Names that vendors give their errors, with the status that the same error has as an answer of its own. */
const named: readonly (readonly [RegExp, number])[] = [
  [/invalid_request|invalid_argument|context_length|content_filter|content_policy/i, 400],
  [/authentication|unauthenticated|invalid_api_key/i, 401],
  [/billing|insufficient_quota/i, 402],
  [/permission/i, 403],
  [/not_found/i, 404],
  [/request_too_large/i, 413],
  [/rate_limit|resource_exhausted|too_many_requests/i, 429],
  [/overloaded|unavailable/i, 503],
]

/** The error in a body or an event's data; undefined when it is none. */
export const errorInside = (text: string): JsonObject | undefined => {
  const value = parseJson(text)
  return isObject(value) && value.error !== undefined && value.error !== null ? value : undefined
}

/** The status that an error stands for: the number that it gives itself, or what its names say; else a failure. */
export const statusInside = (value: JsonObject): number => {
  const inner = isObject(value.error) ? value.error : value
  const number = [inner.code, inner.status, inner.http_code]
    .map(Number)
    .find((one) => one >= 400 && one < 600)
  if (number !== undefined) return number
  const names = [inner.type, inner.code, inner.status].filter((one) => typeof one === 'string').join(' ')
  return named.find(([pattern]) => pattern.test(names))?.[1] ?? 500
}
