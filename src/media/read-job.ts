/** Readers that the shapes of jobs share. */
import { isObject, type Json, type JsonObject } from '../core/json-body.ts'
import type { Usage } from '../core/usage.ts'
import { textAt } from './read-answer.ts'
import type { Done, Output, Verdict } from './shape.ts'

export const BLOCKED: Verdict = { verdict: 'blocked' }

/** The vendor could not or would not do it; with the vendor's own text, or ours if it gave none. */
export const failed = (
  message: string | undefined,
  fault: 'inputs' | 'vendor' = 'vendor',
): Extract<Verdict, { verdict: 'failed' }> => ({
  verdict: 'failed',
  fault,
  message: message === undefined || message === '' ? 'the job failed' : message,
})

/** A member that is the address of a result. */
export const addressAt = (value: Json | undefined, name: string): string | undefined => {
  const found = textAt(value, name)
  return found?.startsWith('https://') === true ? found : undefined
}

/** The addresses of results in a list. */
export const addressesIn = (list: readonly Json[] | undefined): readonly string[] =>
  (list ?? []).filter((one): one is string => typeof one === 'string' && one.startsWith('https://'))

/** The vendor's name for a job that it has taken; undefined if the answer names none. */
export const begunAt = (value: Json | undefined, name = 'id') => {
  const id = textAt(value, name)
  return id === undefined ? undefined : { ref: { id } }
}

/** The job goes on; how far it is, from 0 to 1, if the vendor says so. */
export const goesOn = (progress: number | undefined) => ({
  pending: true as const,
  ...(progress === undefined ? {} : { progress: Math.min(1, progress) }),
})

/** The job was cancelled; what the vendor bills all the same, if it says so. */
export const cancelled = (measured: Usage | undefined) => ({
  verdict: 'cancelled' as const,
  ...(measured === undefined ? {} : { measured }),
})

/** A path segment from the vendor's name for a job; the name is not trusted. */
export const segmentOf = (ref: JsonObject, name: string): string =>
  encodeURIComponent(textAt(ref, name) ?? '')

/** The result at an address, and where the body names it. */
export const outputAt = (
  type: 'image' | 'video' | 'audio',
  url: string,
  at: readonly (string | number)[],
): Output => ({ type, from: { url }, at })

const ASKED = /^(?:actual_|revised_)?prompt$/

/** The body without the prompt, which vendors like to repeat: a run's answer is stored, and a prompt never is. */
const withoutPrompt = (value: Json): Json => {
  if (Array.isArray(value)) return value.map(withoutPrompt)
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, one]) =>
      ASKED.test(name) || one === undefined ? [] : [[name, withoutPrompt(one)]],
    ),
  )
}

/** The job succeeded; where outputs have `at`, the body's addresses are replaced. */
export const jobDone = (outputs: readonly Output[], body: JsonObject, measured?: Usage): Done => ({
  verdict: 'done',
  outputs,
  body: withoutPrompt(body) as JsonObject,
  ...(measured === undefined ? {} : { measured }),
})

/** Rounds a count that may be a fraction up to whole units; floating-point noise does not count. */
export const unitsOf = (count: number, each: number): number => Math.ceil(Number((count * each).toFixed(4)))
