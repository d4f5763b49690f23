/**
 * Generate content to callers of the same dialect: bytes pass through, the meter reads along, and the event that says
 * how the answer ended is held back until the call is paid.
 * Source of the format: Gemini API reference, "models.generateContent" and "models.streamGenerateContent".
 */
import type { Call } from '../../core/call.ts'
import { isObject, type JsonBody, type JsonObject, parseJson, splice } from '../../core/json-body.ts'
import type { Model } from '../../core/model.ts'
import { lettersIn } from '../../metering/dense-scripts.ts'
import { type Billed, noBalance, withBill } from '../bill-members.ts'
import { newProgress, noteChoice, type StreamRelay } from '../relay.ts'
import { numberOf, objectOf, objectsOf, textOf } from '../request/json-members.ts'
import { member } from '../request/spelling.ts'
import { geminiError } from './error.ts'
import { queriesIn, withQueries } from './grounding.ts'
import { geminiUsage, isBlocked, readGeminiUsage } from './reply.ts'
import { endingText, type Framing } from './write-stream.ts'

const encoder = new TextEncoder()

/** The body to send; the model is part of the address. */
export const passGeminiCall = (call: Call, model: Model, outputBound: number | undefined): Uint8Array => {
  const edits = {
    model: undefined,
    service_tier: undefined,
    serviceTier: model.cheaper?.tier === undefined ? undefined : `"${model.cheaper.tier}"`,
  }
  if (outputBound === undefined) return splice(call.body, edits)
  const { max_output_tokens: _other, ...config } = objectOf(member(call.body.outline, 'generationConfig'))
  return splice(call.body, {
    ...edits,
    generation_config: undefined,
    generationConfig: JSON.stringify({ ...config, maxOutputTokens: outputBound }),
  })
}

/** The vendor's answer with the cost in its usage. */
export const addGeminiBill = (reply: JsonBody, { usage, bill }: Billed): Uint8Array => {
  const reported = reply.value.usageMetadata
  return splice(reply, {
    usageMetadata: withBill(isObject(reported) ? reported : geminiUsage(usage), bill),
    ...noBalance,
  })
}

/** Letters in the content of an answer or event. */
export const geminiLetters = (value: JsonObject): number =>
  objectsOf(value.candidates)
    .flatMap((candidate) => objectsOf(objectOf(candidate.content).parts))
    .reduce(
      (sum, part) =>
        sum +
        lettersIn(textOf(part.text) ?? '') +
        (part.functionCall === undefined ? 0 : lettersIn(JSON.stringify(part.functionCall))),
      0,
    )

const holdsPicture = (value: JsonObject): boolean =>
  objectsOf(value.candidates)
    .flatMap((candidate) => objectsOf(objectOf(candidate.content).parts))
    .some((part) => part.inlineData !== undefined)

/** The stream, as events or as one JSON list. */
export const geminiRelay = (framing: Framing): StreamRelay => {
  const progress = newProgress()
  let usage: JsonObject | undefined
  const queries: string[] = []
  /** There is no answer, and the vendor's count of the prompt is not charged. */
  let blocked = false
  /** The event that says how the answer ended, or the latest one with only usage. */
  let last: JsonObject | undefined
  const frame = (value: JsonObject): Uint8Array => encoder.encode(framing.element(JSON.stringify(value)))
  return {
    progress,
    follow: (read) => {
      const event = read.data === '' ? undefined : parseJson(read.data)
      if (!isObject(event)) return undefined
      if (isObject(event.error)) {
        progress.error = event.error
        return undefined
      }
      progress.begun = true
      if (isObject(event.usageMetadata)) usage = event.usageMetadata
      queries.push(...queriesIn(event))
      const letters = geminiLetters(event)
      if (letters > 0 || holdsPicture(event)) progress.contentEvents++
      progress.letters += letters
      if (isBlocked(event) && progress.contentEvents === 0) blocked = true
      const candidates = objectsOf(event.candidates)
      const ends = isBlocked(event) || candidates.some(({ finishReason }) => typeof finishReason === 'string')
      for (const { index, finishReason } of candidates)
        noteChoice(progress, numberOf(index) ?? 0, typeof finishReason === 'string')
      if (ends) {
        progress.finished ||= candidates.length === 0
        const before = last
        last = event
        return before === undefined ? undefined : frame(before)
      }
      return framing.passes(read) ? read.bytes : frame(event)
    },
    usage: () =>
      blocked ? {} : usage === undefined ? undefined : withQueries(readGeminiUsage(usage), queries),
    end: (billed) => {
      const cut = {
        candidates: [{ finishReason: 'MAX_TOKENS', index: 0 }],
      }
      // An answer that has ended by itself needs no cut.
      const final = { ...(last ?? cut), ...noBalance }
      const counts = isObject(last?.usageMetadata) ? last.usageMetadata : geminiUsage(billed.usage)
      return framing.element(endingText(final, counts, billed.bill)) + framing.close
    },
    fail: (error) => framing.element(JSON.stringify(geminiError(error, 503))) + framing.close,
  }
}
