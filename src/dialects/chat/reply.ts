/** Chat completions, whole answers ⇄ neutral form. Source of the format: OpenAI API reference, "The chat completion object". */
import { type Json, type JsonObject, present } from '../../core/json-body.ts'
import { cachedTokens, inputTokens, outputTokens, type Usage } from '../../core/usage.ts'
import type { Audio, Choice, Finish, Image, Part, Reply, Text, Thinking } from '../neutral.ts'
import { numberOf, objectOf, objectsOf, textOf } from '../request/json-members.ts'
import type { WriterContext } from '../stream-writer.ts'
import { textIn } from '../translate/citations.ts'
import { addressOf, mediaAt } from '../translate/media.ts'
import { idWith, readSignature, splitId, writeSignature } from '../translate/signatures.ts'
import { annotationOf, readAnnotations, readSources } from './annotations.ts'
import { asksOlder, callsIn, reasonOf } from './older-calls.ts'

const finishes: Readonly<Record<string, Finish>> = {
  stop: 'stop',
  length: 'length',
  model_length: 'length',
  model_context_window_exceeded: 'length',
  tool_calls: 'tool_calls',
  function_call: 'tool_calls',
  content_filter: 'content_filter',
  sensitive: 'content_filter',
  refusal: 'content_filter',
}

/** The words of some vendors for an answer that broke off. */
const broken: ReadonlySet<Json | undefined> = new Set([
  'error',
  'insufficient_system_resource',
  'network_error',
])

/**
 * The neutral finish for a `finish_reason`. A vendor's unknown word means an ordinary stop. An answer with tool calls
 * stops for them, although vendors only say `stop` when the request had named the tool.
 */
export const finishOf = (reason: Json | undefined, callsTools: boolean): Finish => {
  const finish = finishes[textOf(reason) ?? ''] ?? 'stop'
  return finish === 'stop' && callsTools ? 'tool_calls' : finish
}

/** Why an answer that ended for this reason is none. */
export const faultOf = (reason: Json | undefined): string | undefined =>
  broken.has(reason) ? 'the vendor ended its answer with an error' : undefined

/** Reads a vendor's answer; undefined when it is not one. `newId` makes ids for calls that came without one. */
export const readChatReply = (value: JsonObject, newId: () => string): Omit<Reply, 'usage'> | undefined => {
  if (!Array.isArray(value.choices)) return undefined
  const choices = objectsOf(value.choices)
  const notCarried = choices.some(({ message }) => readAnnotations(objectOf(message).annotations).notCarried)
  const [fault] = choices.flatMap(({ finish_reason }) => faultOf(finish_reason) ?? [])
  return {
    id: textOf(value.id) ?? '',
    model: textOf(value.model) ?? '',
    choices: choices.map((choice) => choiceOf(choice, value, newId)),
    ...(notCarried ? { notCarried: ['citations'] } : {}),
    ...present({ fault }),
  }
}

const choiceOf = (choice: JsonObject, answer: JsonObject, newId: () => string): Choice => {
  const message = objectOf(choice.message)
  const parts: Part[] = [...thoughtsOf(message), ...saidIn(message.content), ...imagesOf(message.images)]
  if (typeof message.refusal === 'string' && message.refusal !== '')
    parts.push({ type: 'refusal', text: message.refusal })
  const older = objectOf(message.function_call)
  const calls = [...objectsOf(message.tool_calls), ...(older.name === undefined ? [] : [{ function: older }])]
  for (const call of calls) {
    const called = objectOf(call.function)
    parts.push({
      type: 'tool_call',
      ...splitId(textOf(call.id) || newId()),
      name: textOf(called.name) ?? '',
      arguments: textOf(called.arguments) || '{}',
    })
  }
  const citations = [
    ...readAnnotations(message.annotations).citations,
    ...readSources(answer, textIn(parts).length),
  ]
  return present({
    parts,
    citations: citations.length === 0 ? undefined : citations,
    finish: finishOf(choice.finish_reason, calls.length > 0),
    logprobs: choice.logprobs ?? undefined,
  })
}

/** Content is a text or a list of parts, which may include reasoning. */
export const saidIn = (content: Json | undefined): readonly (Text | Thinking)[] => {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }]
  return objectsOf(content).flatMap((part): (Text | Thinking)[] => {
    if (part.type === 'thinking') {
      const text =
        textOf(part.thinking) ??
        objectsOf(part.thinking)
          .map((one) => textOf(one.text) ?? '')
          .join('')
      return text === '' ? [] : [{ type: 'thinking', text }]
    }
    const text = textOf(part.text) ?? ''
    return text === '' ? [] : [{ type: 'text', text }]
  })
}

/** Images in an answer, in the place where OpenRouter and similar vendors put them. */
export const imagesOf = (images: Json | undefined): readonly Image[] =>
  objectsOf(images).flatMap((image): Image[] => {
    const url = textOf(objectOf(image.image_url).url) ?? textOf(image.image_url)
    return url === undefined ? [] : [{ type: 'image', media: mediaAt(url) }]
  })

/** Reasoning. Its signatures are in `reasoning_details`; the texts may be in there or beside it. */
export const thoughtsOf = (message: JsonObject): readonly Thinking[] => {
  const text = textOf(message.reasoning_content) || textOf(message.reasoning) || ''
  const details = objectsOf(message.reasoning_details).flatMap(thoughtIn)
  if (text === '' || details.some((detail) => detail.text !== '')) return details
  const at = details.findIndex(({ redacted }) => redacted !== true)
  const own = details[at]
  return own === undefined ? [{ type: 'thinking', text }, ...details] : details.with(at, { ...own, text })
}

const thoughtIn = (detail: JsonObject): Thinking[] => {
  const text = textOf(detail.text) ?? textOf(detail.summary) ?? ''
  const sealed = textOf(detail.data)
  if (sealed) return [{ type: 'thinking', text, redacted: true, signature: readSignature(sealed, 'chat') }]
  const signature = textOf(detail.signature)
  if (signature) return [{ type: 'thinking', text, signature: readSignature(signature, 'chat') }]
  return text === '' ? [] : [{ type: 'thinking', text }]
}

/** Writes an answer in this dialect; `addBill` inserts the bill and the balance later. */
export const writeChatReply = (reply: Reply, { created, request }: WriterContext): JsonObject => ({
  id: reply.id,
  object: 'chat.completion',
  created,
  model: reply.model,
  choices: reply.choices.map((choice, index) => ({
    index,
    message: messageOf(choice, reply.id, created, asksOlder(request)),
    logprobs: choice.logprobs ?? null,
    finish_reason: reasonOf(asksOlder(request), choice.finish),
  })),
  usage: chatUsage(reply.usage ?? {}),
})

const messageOf = (
  { parts, citations = [] }: Choice,
  id: string,
  created: number,
  older: boolean,
): JsonObject => {
  const texts = parts.filter((part) => part.type === 'text').map(({ text }) => text)
  const images = parts.filter((part) => part.type === 'image')
  const thoughts = parts.filter((part) => part.type === 'thinking')
  const thought = thoughts.map(({ text }) => text).join('')
  const details = thoughts.some(({ signature }) => signature !== undefined) ? thoughts.map(detailOf) : []
  const calls = parts.filter((part) => part.type === 'tool_call')
  const sound = parts.filter((part) => part.type === 'audio')
  return present({
    role: 'assistant',
    content: texts.length === 0 ? null : texts.join(''),
    refusal: parts.find((part) => part.type === 'refusal')?.text ?? null,
    reasoning_content: thought === '' ? undefined : thought,
    reasoning_details: details.length === 0 ? undefined : details,
    images:
      images.length === 0
        ? undefined
        : images.map(({ media }) => ({
            type: 'image_url',
            image_url: { url: addressOf(media) },
          })),
    audio: sound.length === 0 ? undefined : audioOf(sound, id, created),
    annotations: citations.length === 0 ? undefined : citations.map(annotationOf),
    ...callsIn(
      older,
      calls.map((call) => ({
        id: idWith(call.id, call.signature),
        type: 'function',
        function: { name: call.name, arguments: call.arguments },
      })),
    ),
  })
}

/** A sound, whole. We do not store it, so its id expires at once. */
const audioOf = (sound: readonly Audio[], id: string, created: number): JsonObject => ({
  id: `audio_${id}`,
  data: Buffer.concat(sound.map((part) => Buffer.from(soundIn(part), 'base64'))).toString('base64'),
  expires_at: created,
  transcript: '',
})

/** Sound in base64. */
export const soundIn = ({ media }: Audio): string => ('data' in media ? media.data : '')

/** One entry of `reasoning_details`: the client sends it back so that the vendor recognises its own thought. */
export const detailOf = (thinking: Thinking): JsonObject => {
  const { signature } = thinking
  const written = signature === undefined ? null : writeSignature(signature, 'chat')
  return thinking.redacted === true
    ? { type: 'reasoning.encrypted', data: written }
    : { type: 'reasoning.text', text: thinking.text, signature: written }
}

/** Usage with this dialect's inclusive totals. */
export const chatUsage = (usage: Usage): JsonObject => {
  const input = inputTokens(usage)
  const output = outputTokens(usage)
  const read = cachedTokens(usage)
  const written = (usage.cache_write ?? 0) + (usage.cache_write_1h ?? 0)
  const details = present({
    cached_tokens: read === 0 ? undefined : read,
    cache_write_tokens: written === 0 ? undefined : written,
    audio_tokens: usage.input_audio,
  })
  const outputDetails = present({ reasoning_tokens: usage.reasoning, audio_tokens: usage.output_audio })
  return present({
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: Object.keys(details).length === 0 ? undefined : details,
    completion_tokens_details: Object.keys(outputDetails).length === 0 ? undefined : outputDetails,
  })
}

/** The number of an answer among several. */
export const indexOf = (choice: JsonObject): number => numberOf(choice.index) ?? 0
