/** Messages: turns a request into a call. */
import type { Call, InputSize } from '../../core/call.ts'
import { isObject, type JsonBody, type JsonObject } from '../../core/json-body.ts'
import { Refusal } from '../../core/refusal.ts'
import { textOf } from '../request/json-members.ts'
import { readRequest } from '../request/request.ts'
import { SUMMARY_PROMPT } from '../translate/compaction.ts'
import { compactsFrom, managesContext, requestedBetas } from './betas.ts'
import { countRequest, messagesRequest, shownAgain } from './request.ts'

/** Reads and checks a messages body. */
export const decodeMessagesCall = (
  body: JsonBody,
  { counting = false, beta = null }: { readonly counting?: boolean; readonly beta?: string | null } = {},
): Call | Refusal => {
  const { outline: value } = body
  const found = readRequest(counting ? countRequest : messagesRequest, value)
  if (found instanceof Refusal) return found
  if (found.showsTools) found.template += shownAgain(value)
  const betas = requestedBetas(beta, value)
  const compacts = value.compaction === undefined ? undefined : compactionOf(value)
  if (compacts !== undefined) found.template += compacts.prompt.length
  return {
    kind: 'chat',
    dialect: 'messages',
    modelName: textOf(value.model) ?? '',
    body,
    stream: value.stream === true,
    showUsage: true,
    ...(typeof value.max_tokens === 'number' ? { maxOutput: value.max_tokens } : {}),
    choices: 1,
    size:
      value.context_management === undefined
        ? found.sizeOf(body)
        : withSummary(found.sizeOf(body), betas, value),
    ...(compacts === undefined ? {} : { compacts }),
    ...(betas.length === 0 ? {} : { betas }),
    foreign: found.foreign,
  }
}

/** What is asked of a model whose vendor has no compaction. The caller's instructions take the place of our prompt. */
const compactionOf = ({ compaction }: JsonObject): Call['compacts'] => {
  if (!isObject(compaction)) return undefined
  const own = textOf(compaction.instructions)
  return { prompt: own === undefined || own.trim() === '' ? SUMMARY_PROMPT : own }
}

/** The size of an input that is to be summarised if it has so many tokens; no text has more tokens than bytes. */
const withSummary = (size: InputSize, betas: readonly string[], value: JsonObject): InputSize => {
  const from = managesContext(betas) ? compactsFrom(value) : undefined
  if (from === undefined) return size
  const isText = size.images === 0 && size.audioBytes === 0 && size.unbounded !== true
  return isText && size.textBytes < from ? size : { ...size, compacts: true }
}
