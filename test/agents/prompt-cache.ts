/**
 * A vendor's cache of prompts: it counts a prefix that was sent before as read. Messages caches what the caller marks
 * and charges for writing; the other dialects cache by themselves, from 1,024 tokens on, in steps of 128. A token is
 * four characters of the prompt's JSON.
 */
import { isObject, type Json, type JsonObject } from '../../src/core/json-body.ts'
import type { Counts } from '../clients/vendors/script.ts'

const LEAST = 1_024
const STEP = 128
const TOKEN = 4

/** In the order in which vendors read a prompt: the parts that change least come first. */
const members: Readonly<Record<string, readonly string[]>> = {
  chat: ['tools', 'messages'],
  messages: ['tools', 'system', 'messages'],
  gemini: ['tools', 'systemInstruction', 'contents'],
  responses: ['tools', 'instructions', 'input'],
}

const withoutMarks = (value: Json | undefined): Json | undefined => {
  if (Array.isArray(value)) return value.map((one) => withoutMarks(one) ?? null)
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => name !== 'cache_control')
      .map(([name, one]) => [name, withoutMarks(one) ?? null]),
  )
}

const textOf = (body: JsonObject, names: readonly string[]): string =>
  names.map((name) => JSON.stringify(withoutMarks(body[name]) ?? null)).join('')

/** How much of the prompt comes before its last mark; the blocks after it are short. */
const markedOf = (body: JsonObject, names: readonly string[]): number => {
  const text = names.map((name) => JSON.stringify(body[name] ?? null)).join('')
  const last = text.lastIndexOf('"cache_control"')
  if (last < 0) return 0
  return text.slice(0, last).replaceAll(/,?"cache_control":\{[^}]*\}/g, '').length
}

const sharedLength = (a: string, b: string): number => {
  const end = Math.min(a.length, b.length)
  let at = 0
  while (at < end && a.charCodeAt(at) === b.charCodeAt(at)) at++
  return at
}

export const newPromptCache = (dialect: string) => {
  const known = new Map<string, string[]>()
  const names = members[dialect] ?? []
  return {
    /** Counts a prompt, and keeps it. */
    read: (model: string, body: JsonObject): Omit<Counts, 'output'> => {
      const text = textOf(body, names)
      const before = known.get(model) ?? []
      known.set(model, before)
      const kept = dialect === 'messages' ? text.slice(0, markedOf(body, names)) : text
      const shared = Math.max(0, ...before.map((one) => sharedLength(one, kept)))
      before.push(kept)
      const steps = (length: number) => {
        const tokens = Math.floor(length / TOKEN / STEP) * STEP
        return tokens < LEAST ? 0 : tokens
      }
      const cacheRead = steps(shared)
      const cacheWrite = dialect === 'messages' ? Math.max(0, steps(kept.length) - cacheRead) : 0
      return { input: Math.ceil(text.length / TOKEN) - cacheRead - cacheWrite, cacheRead, cacheWrite }
    },
  }
}
