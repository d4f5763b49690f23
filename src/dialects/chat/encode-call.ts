/** Chat completions, neutral form → request for a vendor. Source of the format: OpenAI API reference, "Create chat completion". */
import { type Json, type JsonObject, present } from '../../core/json-body.ts'
import { Refusal, writeEach } from '../../core/refusal.ts'
import type { Conversation, Part, ToolCall, Turn } from '../neutral.ts'
import { addressOf, mediaTypeOf } from '../translate/media.ts'
import { within } from '../translate/short-names.ts'
import { thoughtsIn } from '../translate/unsupported.ts'
import { AS_JSON, type Encoded, refuseUnsupported, type Target } from '../translate/vendor-call.ts'
import { reasoningMembers, withSampling } from './reasoning.ts'
import { strictIfItFits } from './strict.ts'

/** Writes the conversation for a vendor of this dialect. */
export const writeChatCall = (conversation: Conversation, to: Target): Encoded | Refusal => {
  const refused: string[] = []
  const it = withJsonInstruction(withSampling(conversation, to, refused))
  const takesThoughts = takesReasoning(to)
  if (it.makes?.includes('audio')) return refuseUnsupported('modalities', 'answers in audio')
  const notCarried = [
    ...refused,
    ...(plainDocuments(it) ? ['filename'] : []),
    ...thoughtsIn(it.turns, (part) => takesThoughts && part.type === 'thinking' && part.text !== ''),
  ]
  const messages: Json[] = []
  for (const turn of resultsTogether(it.turns)) {
    const written = turn.role === 'assistant' ? assistantMessages(turn, to) : otherMessages(turn)
    if (written instanceof Refusal) return written
    for (const message of written) messages.push(message)
  }
  const bound = to.outputBound ?? it.maxOutput
  const body: JsonObject = present({
    model: to.model.upstreamName,
    messages,
    ...toolMembers(it),
    response_format: formatOf(it),
    ...reasoningMembers(it, to, notCarried),
    modalities: it.makes === undefined ? undefined : ['text', ...it.makes],
    temperature: it.temperature,
    top_p: it.topP,
    stop: it.stop.length === 0 ? undefined : it.stop,
    [to.quirks.seed ?? 'seed']: it.seed,
    presence_penalty: it.presencePenalty,
    frequency_penalty: it.frequencyPenalty,
    logprobs: it.logprobs === undefined ? undefined : true,
    top_logprobs: it.logprobs === 0 ? undefined : it.logprobs,
    n: it.choices === 1 ? undefined : it.choices,
    user: it.user === undefined ? undefined : within(it.user, USER_MAX),
    [to.quirks.outputBound]: bound,
    service_tier: to.model.cheaper?.tier ?? to.quirks.standardTier,
    stream: to.stream ? true : undefined,
    stream_options: to.stream && to.quirks.takesStreamOptions ? { include_usage: true } : undefined,
  })
  return { body, notCarried }
}

const toolMembers = (it: Conversation): JsonObject => {
  if (it.tools.length === 0) return {}
  const choice = it.toolChoice
  return present({
    tools: it.tools.map(({ name, description, parameters, strict }) => ({
      type: 'function',
      function: present({ name, description, parameters, strict: strictIfItFits(strict, parameters) }),
    })),
    tool_choice:
      choice?.type === 'named' ? { type: 'function', function: { name: choice.name } } : choice?.type,
    parallel_tool_calls: it.parallelTools,
  })
}

const formatOf = ({ format }: Conversation): Json | undefined => {
  if (format === undefined) return undefined
  if (format.type === 'json') return { type: 'json_object' }
  const { name, schema, strict, description } = format
  const fits = strictIfItFits(strict, schema)
  return { type: 'json_schema', json_schema: present({ name, schema, strict: fits, description }) }
}

/** The longest `user`, in characters. Source: OpenAI API reference, "Create chat completion". */
const USER_MAX = 64

/** Vendors refuse JSON mode when no message mentions JSON. Source: OpenAI, "Structured model outputs", JSON mode. */
const withJsonInstruction = (it: Conversation): Conversation => {
  if (it.format?.type !== 'json' || it.turns.some(({ parts }) => parts.some(mentionsJson))) return it
  return { ...it, turns: [{ role: 'system', parts: [{ type: 'text', text: AS_JSON }] }, ...it.turns] }
}
const mentionsJson = (part: Part): boolean => part.type === 'text' && /json/i.test(part.text)

/** Plain-text documents are sent as text, which has no place for a name. */
const plainDocuments = (it: Conversation): boolean =>
  it.turns.some(({ parts }) =>
    parts.some(
      (part) => part.type === 'document' && part.name !== undefined && part.media.mediaType === 'text/plain',
    ),
  )

/** Merges adjacent tool results into one turn: they must follow their calls with nothing in between. */
const resultsTogether = (turns: readonly Turn[]): readonly Turn[] => {
  const whole: Turn[] = []
  /** The parts of the last turn, if it holds results. */
  let results: Part[] | undefined
  for (const turn of turns) {
    const follows = turn.role === 'user' && turn.parts[0]?.type === 'tool_result'
    if (follows && results !== undefined) for (const part of turn.parts) results.push(part)
    else {
      results = follows ? [...turn.parts] : undefined
      whole.push(results === undefined ? turn : { ...turn, parts: results })
    }
  }
  return whole
}

/** What the user, the system or a tool says: a turn with tool results becomes several messages. */
const otherMessages = (turn: Turn): Json[] | Refusal => {
  const messages: Json[] = []
  const rest: Part[] = []
  for (const part of turn.parts) {
    if (part.type !== 'tool_result') {
      rest.push(part)
      continue
    }
    const texts = part.parts.flatMap((one) => (one.type === 'text' ? [one.text] : []))
    messages.push({ role: 'tool', tool_call_id: part.id, content: texts.join('\n') })
    // A tool message takes text only, so its images follow in a message of the user.
    for (const one of part.parts) if (one.type !== 'text') rest.push(one)
  }
  if (rest.length === 0) return messages
  const content = contentOf(rest)
  if (content instanceof Refusal) return content
  messages.push(present({ role: turn.role, content, name: turn.name }))
  return messages
}

const contentOf = (parts: readonly Part[]): Json | Refusal => {
  const [only] = parts
  return parts.length === 1 && only?.type === 'text' && only.cache === undefined
    ? only.text
    : writeEach(parts, partOf)
}

const partOf = (part: Part): readonly Json[] | Refusal => {
  switch (part.type) {
    case 'text':
      return [{ type: 'text', text: part.text }]
    case 'image':
      return [{ type: 'image_url', image_url: present({ url: addressOf(part.media), detail: part.detail }) }]
    case 'audio': {
      if ('url' in part.media) return refuseUnsupported('audio', 'audio by its address')
      const format = mediaTypeOf(part.media, 'audio/wav').slice('audio/'.length)
      const input_audio = { data: part.media.data, format: format === 'mpeg' ? 'mp3' : format }
      return [{ type: 'input_audio', input_audio }]
    }
    case 'document': {
      if ('url' in part.media) return refuseUnsupported('document', 'documents by their address')
      if (/^(?:video|audio)\//.test(part.media.mediaType))
        return refuseUnsupported('document', part.media.mediaType)
      if (part.media.mediaType === 'text/plain')
        return [{ type: 'text', text: Buffer.from(part.media.data, 'base64').toString('utf8') }]
      const file = { filename: part.name ?? 'document.pdf', file_data: addressOf(part.media) }
      return [{ type: 'file', file }]
    }
    default:
      return []
  }
}

const takesReasoning = ({ quirks }: Target): boolean =>
  quirks.reasoningBack === 'needed' || quirks.reasoningBack === 'taken'

/** The reasoning that goes back. Where calls without reasoning are refused, an empty text replaces lost thoughts. */
const reasoningOf = (turn: Turn, to: Target): string | undefined => {
  if (!takesReasoning(to)) return undefined
  const thoughts = turn.parts.filter((part) => part.type === 'thinking').map(({ text }) => text)
  if (thoughts.length > 0) return thoughts.join('\n')
  const calls = turn.parts.some(({ type }) => type === 'tool_call')
  return to.quirks.reasoningBack === 'needed' && calls ? '' : undefined
}

const assistantMessages = (turn: Turn, to: Target): Json[] | Refusal => {
  const texts = turn.parts.filter((part) => part.type === 'text').map(({ text }) => text)
  const declined = turn.parts.find((part) => part.type === 'refusal')?.text
  const calls = turn.parts.filter((part) => part.type === 'tool_call')
  if (texts.length === 0 && calls.length === 0 && declined === undefined) return []
  return [
    present({
      role: 'assistant',
      content: texts.length === 0 ? null : texts.join(''),
      refusal: declined,
      reasoning_content: reasoningOf(turn, to),
      tool_calls: calls.length === 0 ? undefined : calls.map(callOf),
    }),
  ]
}

const callOf = (call: ToolCall): Json => ({
  id: call.id,
  type: 'function',
  function: { name: call.name, arguments: call.arguments },
})
