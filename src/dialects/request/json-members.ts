/** Reads members of loosely typed JSON: undefined if a member is absent or of another type. */
import { isObject, type Json, type JsonObject } from '../../core/json-body.ts'
import type { Part } from '../neutral.ts'

export const textOf = (value: Json | undefined): string | undefined =>
  typeof value === 'string' ? value : undefined

export const numberOf = (value: Json | undefined): number | undefined =>
  typeof value === 'number' ? value : undefined

export const flagOf = (value: Json | undefined): boolean | undefined =>
  typeof value === 'boolean' ? value : undefined

export const objectOf = (value: Json | undefined): JsonObject => (isObject(value) ? value : {})

export const listOf = (value: Json | undefined): readonly Json[] => (Array.isArray(value) ? value : [])

export const objectsOf = (value: Json | undefined): readonly JsonObject[] => listOf(value).filter(isObject)

/** The objects of a list, or a single object that comes without its list. */
export const oneOrMore = (value: Json | undefined): readonly JsonObject[] =>
  isObject(value) ? [value] : objectsOf(value)

export const textsOf = (value: Json | undefined): readonly string[] =>
  listOf(value).filter((one) => typeof one === 'string')

/** The texts of a list, or a single text that comes without its list. */
export const oneOrMoreTexts = (value: Json | undefined): readonly string[] =>
  typeof value === 'string' ? [value] : textsOf(value)

/** What an answer may contain beside text, from a list of kinds in any case; undefined for text alone. */
export const madeKinds = (value: Json | undefined): readonly ('image' | 'audio')[] | undefined => {
  const kinds = new Set(oneOrMoreTexts(value).map((kind) => kind.toLowerCase()))
  const made = (['image', 'audio'] as const).filter((kind) => kinds.has(kind))
  return made.length === 0 ? undefined : made
}

/** Content that is a text, or a list of parts. */
export const partsIn = (content: Json | undefined, partOf: (part: JsonObject) => readonly Part[]): Part[] => {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }]
  return objectsOf(content).flatMap(partOf)
}
