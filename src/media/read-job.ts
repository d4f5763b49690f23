/** Readers that the shapes of jobs share. */
import { isObject, type Json, type JsonObject } from '../core/json-body.ts'
import type { Usage } from '../core/usage.ts'
import { textAt } from './read-answer.ts'
import type { Output, Verdict } from './shape.ts'

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
export const jobDone = (
  outputs: readonly Output[],
  body: JsonObject,
  measured?: Usage,
): Extract<Verdict, { verdict: 'done' }> => ({
  verdict: 'done',
  outputs,
  body: withoutPrompt(body) as JsonObject,
  ...(measured === undefined ? {} : { measured }),
})

/** Rounds a count that may be a fraction up to whole units; floating-point noise does not count. */
export const unitsOf = (count: number, each: number): number => Math.ceil(Number((count * each).toFixed(4)))
