/** The member of a request that a vendor's error is about. */
import { isObject, type Json, type JsonObject } from '../core/json-body.ts'

/**
 * The place that the vendor names (`tools[0].function`, or `tools.0.function`), as far as the caller sent it: the rest
 * of it may be what is missing, or what the vendor's own form has. Undefined if the caller sent nothing of it.
 */
export const sentMember = (named: string, request: JsonObject): string | undefined => {
  let place = ''
  let value: Json | undefined = request
  for (const step of named.split(/[.[\]]+/).filter((part) => part !== '')) {
    const listed: boolean = Array.isArray(value)
    value = inside(value, step)
    if (value === undefined) break
    place += listed ? `[${step}]` : place === '' ? step : `.${step}`
  }
  return place === '' ? undefined : place
}

const inside = (value: Json | undefined, step: string): Json | undefined => {
  if (Array.isArray(value)) return /^\d{1,6}$/.test(step) ? value[Number(step)] : undefined
  return isObject(value) && Object.hasOwn(value, step) ? value[step] : undefined
}
