/** Generate content, whole answers ⇄ neutral form, and their usage. Source of the format: Gemini API reference, "GenerateContentResponse". */

import { isObject, type Json, type JsonObject, present } from '../../core/json-body.ts'
import { cachedTokens, inputTokens, outputTokens, soundUsage, type Usage } from '../../core/usage.ts'
import type { Choice, Finish, Part, Reply, Thinking } from '../neutral.ts'
import { numberOf, objectOf, objectsOf, textOf } from '../request/json-members.ts'
import { textIn } from '../translate/citations.ts'
import { mediaTypeOf } from '../translate/media.ts'
import {
  idWith,
  type Signature,
  signed as signedBy,
  unsigned,
  writeHidden,
  writeSignature,
} from '../translate/signatures.ts'
import { argumentsOf } from '../translate/tool-arguments.ts'
import { faultOf } from './error.ts'
import { groundingOf, readGrounding } from './grounding.ts'

const finishes: Readonly<Record<string, Finish>> = {
  STOP: 'stop',
  MAX_TOKENS: 'length',
  SAFETY: 'content_filter',
  RECITATION: 'content_filter',
  BLOCKLIST: 'content_filter',
  PROHIBITED_CONTENT: 'content_filter',
  SPII: 'content_filter',
  IMAGE_SAFETY: 'content_filter',
  IMAGE_PROHIBITED_CONTENT: 'content_filter',
  IMAGE_RECITATION: 'content_filter',
  MODEL_ARMOR: 'content_filter',
  LANGUAGE: 'content_filter',
}

/** The neutral finish; an answer with tool calls stops for them. */
export const finishOf = (reason: Json | undefined, callsTools: boolean): Finish => {
  const finish = finishes[textOf(reason) ?? ''] ?? 'stop'
  return finish === 'stop' && callsTools ? 'tool_calls' : finish
}

const reasons: Readonly<Record<Finish, string>> = {
  compaction: 'STOP',
  stop: 'STOP',
  stop_sequence: 'STOP',
  tool_calls: 'STOP',
  length: 'MAX_TOKENS',
  content_filter: 'SAFETY',
}
export const reasonOf = (finish: Finish): string => reasons[finish]

/** Whether the prompt was blocked, so that there is no answer. */
export const isBlocked = (value: JsonObject): boolean =>
  !(Array.isArray(value.candidates) && value.candidates.length > 0) &&
  typeof objectOf(value.promptFeedback).blockReason === 'string'

/** Reads a vendor's answer; undefined when it is not one. */
export const readGeminiReply = (value: JsonObject, newId: () => string): Omit<Reply, 'usage'> | undefined => {
  if (!Array.isArray(value.candidates) && !isBlocked(value)) return undefined
  const candidates = objectsOf(value.candidates)
  const choices = candidates.map((candidate) => choiceOf(candidate, newId))
  const [fault] = candidates.flatMap(
    ({ finishReason }, at) => faultOf(finishReason, choices[at]?.finish === 'tool_calls') ?? [],
  )
  return {
    id: textOf(value.responseId) ?? '',
    model: textOf(value.modelVersion) ?? '',
    choices,
    ...notCarriedIn(candidates),
    ...present({ fault }),
    ...(isBlocked(value) ? { blocked: true } : {}),
  }
}

const partsIn = (candidate: JsonObject): readonly JsonObject[] => objectsOf(objectOf(candidate.content).parts)

/** What no caller gets of the candidates. */
const notCarriedIn = (candidates: readonly JsonObject[]): { readonly notCarried?: readonly string[] } => {
  const cited = candidates.some((candidate) => readGrounding(candidate, '').notCarried)
  const names = [...(cited ? ['citations'] : []), ...candidates.flatMap(partsIn).flatMap(lostPart)]
  return names.length === 0 ? {} : { notCarried: names }
}

/** Media of an answer that is neither image nor sound. */
export const lostPart = (part: JsonObject): readonly string[] => {
  const { data, mimeType } = objectOf(part.inlineData)
  return typeof data !== 'string' || /^(?:image|audio)\//.test(textOf(mimeType) ?? 'image/') ? [] : ['media']
}

const choiceOf = (candidate: JsonObject, newId: () => string): Choice => {
  const parts = joined(partsIn(candidate).flatMap((part) => readPart(part, newId)))
  const { citations } = readGrounding(candidate, textIn(parts))
  return present({
    parts,
    citations: citations.length === 0 ? undefined : citations,
    finish: finishOf(
      candidate.finishReason,
      parts.some(({ type }) => type === 'tool_call'),
    ),
    logprobs: logprobsOf(candidate.logprobsResult),
  })
}

/** Merges adjacent texts, and the thoughts before a signature: this dialect cuts them anywhere. */
export const joined = (parts: readonly Part[]): readonly Part[] => {
  const whole: Part[] = []
  for (const part of parts) {
    const last = whole.at(-1)
    if (part.type === 'text' && last?.type === 'text' && last.cache === undefined)
      whole[whole.length - 1] = { ...last, text: last.text + part.text }
    else if (
      part.type === 'thinking' &&
      part.redacted !== true &&
      last?.type === 'thinking' &&
      last.signature === undefined
    )
      whole[whole.length - 1] = { ...last, ...part, text: last.text + part.text }
    else whole.push(part)
  }
  return whole
}

/** Reads one part of an answer. */
export const readPart = (part: JsonObject, newId: () => string): Part[] => {
  const written = textOf(part.thoughtSignature)
  const call = part.functionCall
  // A call without a name ends a call that was streamed in parts, which nobody requested.
  if (isObject(call) && !textOf(call.name)) return []
  if (isObject(call))
    return [
      {
        type: 'tool_call',
        id: textOf(call.id) || newId(),
        name: textOf(call.name) ?? '',
        arguments: JSON.stringify(call.args ?? {}),
        ...signatureIn(written),
      },
    ]
  const inline = objectOf(part.inlineData)
  if (typeof inline.data === 'string') {
    const media = { mediaType: textOf(inline.mimeType) ?? 'image/png', data: inline.data }
    if (media.mediaType.startsWith('audio/')) return [{ type: 'audio', media }]
    return media.mediaType.startsWith('image/') ? [{ type: 'image', media }] : []
  }
  return sayingOf(part, written)
}

/** The signature of a call. */
export const signatureIn = (written: string | undefined): { readonly signature?: Signature } => {
  const { signature } = signedBy(written, 'gemini')
  return signature === undefined ? {} : { signature }
}

/** A text or a thought. An empty text's signature belongs to the thought before it. */
export const sayingOf = (part: JsonObject, written: string | undefined): Part[] => {
  const text = textOf(part.text) ?? ranCode(part) ?? ''
  const read = signedBy(written, 'gemini')
  if (part.thought === true) return [{ type: 'thinking', text, ...read }]
  const parts: Part[] = text === '' ? [] : [{ type: 'text', text }]
  return read.signature === undefined
    ? parts
    : [...parts, { type: 'thinking', text: '', signature: read.signature, redacted: true }]
}

/** Code that the model ran at the vendor, and its result, as text. */
const ranCode = (part: JsonObject): string | undefined => {
  const code = textOf(objectOf(part.executableCode).code)
  if (code !== undefined) return `\n\`\`\`python\n${code}\n\`\`\`\n`
  const output = textOf(objectOf(part.codeExecutionResult).output)
  return output === undefined ? undefined : `\n\`\`\`\n${output}\n\`\`\`\n`
}

/** Probabilities of tokens, in the form of chat completions. */
export const logprobsOf = (result: Json | undefined): Json | undefined => {
  const chosen = objectsOf(objectOf(result).chosenCandidates)
  const others = objectsOf(objectOf(result).topCandidates)
  if (chosen.length === 0) return undefined
  const one = ({ token, logProbability }: JsonObject) => ({
    token: textOf(token) ?? '',
    logprob: numberOf(logProbability) ?? 0,
    bytes: null,
  })
  return {
    content: chosen.map((candidate, at) => ({
      ...one(candidate),
      top_logprobs: objectsOf(others[at]?.candidates).map(one),
    })),
  }
}

/** The reverse. */
export const logprobsResult = (logprobs: Json | undefined): JsonObject | undefined => {
  const content = objectsOf(objectOf(logprobs).content)
  if (content.length === 0) return undefined
  const one = ({ token, logprob }: JsonObject) => ({
    token: textOf(token) ?? '',
    logProbability: numberOf(logprob) ?? 0,
  })
  return {
    chosenCandidates: content.map(one),
    topCandidates: content.map((token) => ({ candidates: objectsOf(token.top_logprobs).map(one) })),
  }
}

/** Writes an answer in this dialect. */
export const writeGeminiReply = (reply: Reply): JsonObject => ({
  candidates: reply.choices.map((choice, index) =>
    present({
      content: { role: 'model', parts: choice.parts.flatMap(writePart) },
      finishReason: reasonOf(choice.finish),
      index,
      logprobsResult: logprobsResult(choice.logprobs),
      ...groundingOf(choice.citations ?? [], textIn(choice.parts)),
    }),
  ),
  usageMetadata: geminiUsage(reply.usage ?? {}),
  modelVersion: reply.model,
  responseId: reply.id,
})

/** Writes one part of an answer. */
export const writePart = (part: Part): JsonObject[] => {
  switch (part.type) {
    case 'text':
    case 'refusal':
      return [{ text: part.text }]
    case 'image':
      return 'url' in part.media
        ? [{ fileData: { mimeType: mediaTypeOf(part.media, 'image/png'), fileUri: part.media.url } }]
        : [{ inlineData: { mimeType: part.media.mediaType, data: part.media.data } }]
    case 'audio':
      return 'url' in part.media
        ? []
        : [{ inlineData: { mimeType: part.media.mediaType, data: part.media.data } }]
    case 'thinking':
      return [thoughtPart(part)]
    case 'tool_call': {
      const args = argumentsOf(part)
      // A call without its end is none.
      if (args === undefined) return []
      const functionCall = { id: idWith(part.id, undefined), name: part.name, args }
      // One that its vendor did not sign gets a mark, because this dialect's vendor refuses calls without a signature.
      return [present({ functionCall, thoughtSignature: signatureText(part.signature ?? unsigned) })]
    }
    default:
      return []
  }
}

/** A thought. If it has a signature but no text, the signature goes on an empty text, where the vendor puts it. */
export const thoughtPart = ({ text, signature, redacted }: Thinking): JsonObject => {
  if (signature === undefined) return { text, thought: true }
  if (redacted !== true) return { text, thought: true, thoughtSignature: writeSignature(signature, 'gemini') }
  const thoughtSignature = writeHidden(signature, 'gemini')
  return signature.origin === 'gemini'
    ? { text, thoughtSignature }
    : { text, thought: true, thoughtSignature }
}

const signatureText = (signature: Signature | undefined): string | undefined =>
  signature === undefined ? undefined : writeSignature(signature, 'gemini')

/** Usage with this dialect's totals: the prompt includes cached tokens, the candidates exclude thoughts. */
export const geminiUsage = (usage: Usage): JsonObject => {
  const cached = cachedTokens(usage)
  return present({
    promptTokenCount: inputTokens(usage),
    candidatesTokenCount: outputTokens(usage) - (usage.reasoning ?? 0),
    totalTokenCount: inputTokens(usage) + outputTokens(usage),
    cachedContentTokenCount: cached === 0 ? undefined : cached,
    thoughtsTokenCount: usage.reasoning,
  })
}

const ofKind = (details: Json | undefined, modality: string): number =>
  objectsOf(details)
    .filter((detail) => detail.modality === modality)
    .reduce((sum, detail) => sum + (numberOf(detail.tokenCount) ?? 0), 0)

/** Reads a vendor's usage; undefined when it is absent or absurd. */
export const readGeminiUsage = (raw: JsonObject): Usage | undefined => {
  const prompt = numberOf(raw.promptTokenCount)
  if (prompt === undefined) return undefined
  const cached = numberOf(raw.cachedContentTokenCount) ?? 0
  const cachedAudio = ofKind(raw.cacheTokensDetails, 'AUDIO')
  const audio = Math.max(0, ofKind(raw.promptTokensDetails, 'AUDIO') - cachedAudio)
  const candidates = numberOf(raw.candidatesTokenCount) ?? 0
  const outputImage = ofKind(raw.candidatesTokensDetails, 'IMAGE')
  const outputAudio = ofKind(raw.candidatesTokensDetails, 'AUDIO')
  return soundUsage({
    input: prompt + (numberOf(raw.toolUsePromptTokenCount) ?? 0) - cached - audio,
    cache_read: cached - cachedAudio,
    cache_read_audio: cachedAudio,
    input_audio: audio,
    output: candidates - outputImage - outputAudio,
    reasoning: numberOf(raw.thoughtsTokenCount) ?? 0,
    output_image: outputImage,
    output_audio: outputAudio,
  })
}
