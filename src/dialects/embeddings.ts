/**
 * Embeddings: what a caller may send, and what goes to the vendor.
 * Source of the format: OpenAI API reference, "Create embeddings".
 */
import type { Call } from '../core/call.ts'
import { type Json, type JsonBody, splice } from '../core/json-body.ts'
import type { Model } from '../core/model.ts'
import { invalid, Refusal } from '../core/refusal.ts'
import { type Check, checkMembers, integerIn, isText, modelNameOf, oneOf } from './field-checks.ts'

const INPUTS_MAX = 2048

const members: Readonly<Record<string, Check>> = {
  dimensions: integerIn(1, 65_536),
  encoding_format: oneOf('float', 'base64'),
  user: isText,
}

/** Reads and checks an embeddings body. */
export const decodeEmbeddingsCall = (body: JsonBody): Call | Refusal => {
  const modelName = modelNameOf(body.value)
  if (modelName instanceof Refusal) return modelName
  const refusal = checkMembers(body.value, members) ?? checkInput(body.value.input)
  if (refusal) return refusal
  return {
    kind: 'embeddings',
    dialect: 'embeddings',
    modelName,
    body,
    stream: false,
    showUsage: true,
    choices: 1,
    size: { textBytes: body.bytes.length, images: 0, audioBytes: 0 },
  }
}

/** A text, a list of texts, a list of tokens, or a list of lists of tokens. */
const checkInput = (input: Json | undefined): Refusal | undefined => {
  if (input === undefined || input === null)
    return invalid('input', "'input' is required: a string or a list.")
  if (typeof input === 'string')
    return input === '' ? invalid('input', "'input' must not be empty.") : undefined
  if (!Array.isArray(input) || input.length === 0)
    return invalid('input', "'input' must be a string or a list that is not empty.")
  if (input.every(isToken)) return undefined
  if (input.length > INPUTS_MAX) return invalid('input', `'input' may hold at most ${INPUTS_MAX} items.`)
  for (const [index, item] of input.entries()) {
    const fits =
      typeof item === 'string' ? item !== '' : Array.isArray(item) && item.length > 0 && item.every(isToken)
    if (!fits)
      return invalid(
        `input[${index}]`,
        `'input[${index}]' must be a string that is not empty, or a list of tokens.`,
      )
  }
  return undefined
}

const isToken = (value: Json): boolean =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0

/** The body to send. */
export const encodeEmbeddingsCall = (call: Call, model: Model): Uint8Array =>
  splice(call.body, { model: JSON.stringify(model.upstreamName) })
