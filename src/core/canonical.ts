/** One text for all spellings of a JSON value: members sorted, no white space. */
import { isObject, type Json } from './json-body.ts'

/** Canonical JSON for fingerprints; the depth is bounded where bodies are read. */
export const canonicalJson = (value: Json | undefined): string => {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (!isObject(value)) return JSON.stringify(value ?? null)
  const members = Object.keys(value)
    .sort()
    .map((name) => `${JSON.stringify(name)}:${canonicalJson(value[name])}`)
  return `{${members.join(',')}}`
}
