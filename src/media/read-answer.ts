/** Readers that the shapes of many vendors share. */
import { isObject, type Json, type JsonObject, present } from '../core/json-body.ts'
import type { Usage } from '../core/usage.ts'
import type { VendorAnswer, Verdict } from './shape.ts'
import type { TimedText, Transcript } from './transcript.ts'

const isOk = ({ status }: VendorAnswer): boolean => status >= 200 && status < 300

/** The body of a successful answer, if it is an object. */
export const objectOf = (answer: VendorAnswer): JsonObject | undefined =>
  isOk(answer) && isObject(answer.json) ? answer.json : undefined

export const member = (value: Json | undefined, name: string): Json | undefined =>
  isObject(value) ? value[name] : undefined

export const textAt = (value: Json | undefined, name: string): string | undefined => {
  const found = member(value, name)
  return typeof found === 'string' ? found : undefined
}

/** A number of at least 0. */
export const numberAt = (value: Json | undefined, name: string): number | undefined => {
  const found = member(value, name)
  return typeof found === 'number' && found >= 0 && Number.isFinite(found) ? found : undefined
}

/** A whole number of at least 0, such as a vendor's count of units. */
export const countAt = (value: Json | undefined, name: string): number | undefined => {
  const found = numberAt(value, name)
  return found === undefined || !Number.isSafeInteger(found) ? undefined : found
}

export const listAt = (value: Json | undefined, name: string): readonly Json[] | undefined => {
  const found = member(value, name)
  return Array.isArray(found) ? found : undefined
}

/** Seconds as billable milliseconds. */
export const msOf = (seconds: number): number => Math.ceil(seconds * 1000)

/** The items of a list that have times. */
export const spokenIn = (
  list: readonly Json[] | undefined,
  ...names: readonly string[]
): readonly TimedText[] =>
  (list ?? []).flatMap((one) => {
    const [start, end] = [numberAt(one, 'start'), numberAt(one, 'end')]
    const text = names.map((name) => textAt(one, name)).find((found) => found !== undefined)
    return start === undefined || end === undefined || text === undefined ? [] : [{ start, end, text }]
  })

/** An answer that is a sound; undefined if it is not one. */
export const soundOf = (answer: VendorAnswer, measured?: Usage): Verdict | undefined => {
  const type = answer.header('content-type') ?? ''
  if (!isOk(answer) || answer.bytes.length === 0 || !/^(?:audio\/|application\/octet-stream)/i.test(type))
    return undefined
  return {
    verdict: 'done',
    outputs: [{ type: 'audio', from: { bytes: answer.bytes } }],
    body: {},
    ...(measured === undefined ? {} : { measured }),
  }
}

/** An answer whose body is the result itself. */
export const jsonDone = (body: JsonObject, measured?: Usage): Verdict => ({
  verdict: 'done',
  outputs: [{ type: 'json', value: body }],
  body,
  ...(measured === undefined ? {} : { measured }),
})

/** What a vendor says of a recording that it wrote down. */
type Heard = { readonly [Member in keyof Transcript]: Transcript[Member] | undefined } & {
  readonly text: string
  readonly segments: readonly TimedText[]
}

/** A recording is written down; without `measured` it is billed by its seconds, where the vendor says them. */
export const heard = (
  body: JsonObject,
  said: Heard,
  measured = said.seconds === undefined ? undefined : { audio_ms: msOf(said.seconds) },
): Verdict => ({
  verdict: 'done',
  outputs: [{ type: 'text', text: said.text }],
  body,
  ...present({ measured }),
  transcript: present(said),
})
