/**
 * Embeddings: what a caller may send, and what is sent to the vendor.
 * Source of the format: OpenAI API reference, "Create embeddings".
 */
import type { Call } from '../../core/call.ts'
import { bodyOf, isObject, type Json, type JsonBody, splice } from '../../core/json-body.ts'
import type { Model } from '../../core/model.ts'
import { Refusal } from '../../core/refusal.ts'
import { listOf, textOf } from './json-members.ts'
import { ignored, modelName, needed, readRequest, request } from './request.ts'
import { integer, meant, type Shape, text, Wrong, word } from './shape.ts'

export const INPUTS_MAX = 2048

const INPUT = () => "'input' is required: a string or a list."

const isToken = (value: Json): boolean =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0

const isInput = (item: Json): boolean =>
  typeof item === 'string' ? item !== '' : Array.isArray(item) && item.length > 0 && item.every(isToken)

/** A text, a list of texts, a list of tokens, or a list of lists of tokens. */
export const input: Shape<string | readonly Json[]> = {
  check: (value) => {
    if (typeof value === 'string')
      return value === '' ? new Wrong((name) => `'${name}' must not be empty.`) : undefined
    if (!Array.isArray(value) || value.length === 0)
      return new Wrong((name) => `'${name}' must be a string or a list that is not empty.`)
    if (value.every(isToken)) return undefined
    if (value.length > INPUTS_MAX)
      return new Wrong((name) => `'${name}' may hold at most ${INPUTS_MAX} items.`)
    const at = value.findIndex((item) => !isInput(item))
    return at < 0
      ? undefined
      : new Wrong((name) => `'${name}' must be a string that is not empty, or a list of tokens.`).under(
          `[${at}]`,
        )
  },
  schema: {
    anyOf: [
      { type: 'string', minLength: 1 },
      { type: 'array', minItems: 1 },
    ],
  },
}

/** A vector as 32-bit floats in base64, in little-endian order. */
export const base64Of = (vector: readonly number[]): string => {
  const bytes = new DataView(new ArrayBuffer(vector.length * 4))
  for (const [index, value] of vector.entries()) bytes.setFloat32(index * 4, value, true)
  return Buffer.from(bytes.buffer).toString('base64')
}

/** Whether a value is a vector of numbers. */
export const isVector = (value: Json | undefined): value is readonly number[] =>
  Array.isArray(value) && value.length > 0 && value.every((one) => typeof one === 'number')

/**
 * An answer in the form that its call asks for. Some vendors send numbers, whatever they are asked for, and clients that
 * asked for base64 read other numbers from those.
 */
export const inAskedForm = ({ body }: Call, answer: JsonBody): JsonBody => {
  if (body.value.encoding_format !== 'base64') return answer
  const sent = listOf(answer.value.data)
  const data = sent.map((one) =>
    isObject(one) && isVector(one.embedding) ? { ...one, embedding: base64Of(one.embedding) } : one,
  )
  return data.every((one, at) => one === sent[at]) ? answer : bodyOf({ ...answer.value, data })
}

/** What a caller of any dialect asks for, as far as vendors with a form of their own take it. */
export type TextsToEmbed = {
  /** The member with the texts, as the caller named it. */
  readonly param: string
  readonly texts: readonly string[]
  readonly dimensions: number | undefined
  /** What the vectors are for, in the vendor's own words. */
  readonly inputType: string | undefined
  /** The same for each text, in Google's words. */
  readonly purposes?: readonly { readonly taskType?: string; readonly title?: string }[]
  /** Members that only some vendors take, by name. */
  readonly ignored: readonly string[]
}

export const embeddingsRequest = request({
  model: modelName,
  dimensions: integer(1, 65_536),
  encoding_format: word(['float', 'base64']),
  user: ignored(text),
  input_type: meant('string'),
  input: needed(input, INPUT),
})

/** Reads and checks a body by its description. */
export const embeddingsCall = (
  description: Shape,
  body: JsonBody,
  dialect: Call['dialect'],
  modelName = textOf(body.value.model) ?? '',
): Call | Refusal => {
  const found = readRequest(description, body.value)
  if (found instanceof Refusal) return found
  return {
    kind: 'embeddings',
    dialect,
    modelName,
    body,
    stream: false,
    showUsage: true,
    choices: 1,
    size: found.sizeOf(body),
  }
}

export const decodeEmbeddingsCall = (body: JsonBody): Call | Refusal =>
  embeddingsCall(embeddingsRequest, body, 'embeddings')

/** The body to send. */
export const encodeEmbeddingsCall = (call: Call, model: Model): Uint8Array =>
  splice(call.body, { model: JSON.stringify(model.upstreamName) })
