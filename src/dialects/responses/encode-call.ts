/** Responses, neutral form → request for a vendor. Source of the format: OpenAI API reference, "Create a model response". */
import { type Json, type JsonObject, present } from '../../core/json-body.ts'
import { invalid, Refusal, writeEach } from '../../core/refusal.ts'
import { strictIfItFits } from '../chat/strict.ts'
import type { Conversation, Effort, Part, Tool, ToolResult, Turn } from '../neutral.ts'
import { addressOf } from '../translate/media.ts'
import { effortOf } from '../translate/reasoning.ts'
import { within } from '../translate/short-names.ts'
import { thoughtsIn } from '../translate/unsupported.ts'
import { type Encoded, refuseUnsupported, type Target } from '../translate/vendor-call.ts'
import { THOUGHTS } from './pass-call.ts'
import { itemOfThought } from './thoughts.ts'

/** A longer one is a 400: "Invalid 'user': string too long". */
const USER_MAX = 64

/** The smallest bound on an answer that the vendor takes, in tokens. */
export const OUTPUT_MIN = 16

/** Writes the conversation for a vendor of this dialect, asking it to store nothing. */
export const writeResponsesCall = (it: Conversation, to: Target): Encoded | Refusal => {
  const refusal = refusalFor(it, to)
  if (refusal !== undefined) return refusal
  const { instructions, rest } = instructionsOf(it.turns)
  const input = writeEach(rest, (turn) =>
    turn.role === 'assistant' ? assistantItems(turn) : otherItems(turn),
  )
  if (input instanceof Refusal) return input
  const reasons = to.model.capabilities.includes('reasoning')
  const body: JsonObject = present({
    model: to.model.upstreamName,
    instructions,
    input,
    ...toolMembers(it),
    text: formatOf(it),
    reasoning: reasons ? reasoningOf(it, to) : undefined,
    include: reasons ? [THOUGHTS] : undefined,
    temperature: reasons ? undefined : it.temperature,
    top_p: reasons ? undefined : it.topP,
    user: it.user === undefined ? undefined : within(it.user, USER_MAX),
    max_output_tokens: to.outputBound ?? it.maxOutput,
    service_tier: to.model.cheaper?.tier ?? to.quirks.standardTier,
    store: false,
    stream: to.stream ? true : undefined,
  })
  return { body, notCarried: notCarriedOf(it, to) }
}

/** The refusal of what would make the vendor answer another question. */
const refusalFor = (it: Conversation, to: Target): Refusal | undefined => {
  if (it.makes !== undefined) return refuseUnsupported('modalities', 'answers in anything but text')
  if (it.choices > 1) return refuseUnsupported('n', 'calls for several answers')
  const bound = to.outputBound ?? it.maxOutput
  return bound !== undefined && bound < OUTPUT_MIN
    ? invalid(
        'max_tokens',
        `The model's vendor takes no bound below ${OUTPUT_MIN} tokens; this one is ${bound}.`,
      )
    : undefined
}

/** Names of what is not carried for other reasons than the dialect. Models that reason choose their own sampling. */
const notCarriedOf = (it: Conversation, to: Target): readonly string[] => {
  const reasons = to.model.capabilities.includes('reasoning')
  const given: Readonly<Record<string, unknown>> = {
    temperature: reasons ? it.temperature : undefined,
    top_p: reasons ? it.topP : undefined,
    reasoning: !reasons && reasoningOf(it, to) !== undefined ? it.reasoning : undefined,
  }
  return [
    ...Object.keys(given).filter((name) => given[name] !== undefined),
    ...(it.tools.some(losesStrict) ? ['strict'] : []),
    ...(it.turns.some(({ parts }) => parts.some(losesName)) ? ['filename'] : []),
    ...thoughtsIn(it.turns, (part) => part.type === 'thinking' && part.signature?.origin === 'responses'),
  ]
}

/** A strict schema that this dialect would refuse is sent as a non-strict one. */
const losesStrict = ({ strict, parameters }: Tool): boolean =>
  strict === true && strictIfItFits(strict, parameters) !== true

/** Documents at an address, and plain-text documents, have no name here. */
const losesName = (part: Part): boolean =>
  part.type === 'document' &&
  part.name !== undefined &&
  ('url' in part.media || part.media.mediaType === 'text/plain')

/** What the system says before anyone else; what it says later stays in its place. */
const instructionsOf = (
  turns: readonly Turn[],
): { readonly instructions: string | undefined; readonly rest: readonly Turn[] } => {
  const start = turns.findIndex(({ role }) => role !== 'system')
  const first = start < 0 ? turns : turns.slice(0, start)
  const texts = first.flatMap(({ parts }) =>
    parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])),
  )
  return {
    instructions: texts.length === 0 ? undefined : texts.join('\n\n'),
    rest: turns.slice(first.length),
  }
}

const toolMembers = (it: Conversation): JsonObject => {
  if (it.tools.length === 0) return {}
  const choice = it.toolChoice
  return present({
    tools: it.tools.map(({ name, description, parameters, strict }) =>
      present({
        type: 'function',
        name,
        description,
        parameters: parameters ?? { type: 'object', properties: {} },
        // When `strict` is absent, this dialect takes it as true.
        strict: strictIfItFits(strict, parameters) ?? false,
      }),
    ),
    tool_choice: choice?.type === 'named' ? { type: 'function', name: choice.name } : choice?.type,
    parallel_tool_calls: it.parallelTools,
  })
}

const formatOf = ({ format }: Conversation): JsonObject | undefined => {
  if (format === undefined) return undefined
  if (format.type === 'json') return { format: { type: 'json_object' } }
  const { name, schema, strict, description } = format
  const fits = strictIfItFits(strict, schema) ?? false
  return { format: present({ type: 'json_schema', name, schema, strict: fits, description }) }
}

/**
 * Without an effort the vendor does not think, except for the models that refuse tools beside thinking in chat
 * completions; those know the word `none`. A caller that asks to see thinking wants some.
 */
const reasoningOf = ({ reasoning }: Conversation, { model }: Target): JsonObject | undefined => {
  if (reasoning === undefined) return undefined
  const requested = effortOf(reasoning) ?? (reasoning.show === true ? 'medium' : 'none')
  if (requested === 'none')
    return model.requestStyle?.chatTools === undefined ? undefined : { effort: 'none' }
  const effort: Effort = requested === 'max' ? 'xhigh' : requested
  return present({ effort, summary: reasoning.show === true ? 'auto' : undefined })
}

/** What the user, the system or a tool says; tool results are items of their own. */
const otherItems = (turn: Turn): readonly JsonObject[] | Refusal => {
  const items: JsonObject[] = []
  const rest: Part[] = []
  for (const part of turn.parts) {
    if (part.type !== 'tool_result') {
      rest.push(part)
      continue
    }
    const output = resultOf(part)
    if (output instanceof Refusal) return output
    items.push({ type: 'function_call_output', call_id: part.id, output })
  }
  const content = contentOf(rest)
  if (content instanceof Refusal) return content
  return content.length === 0 ? items : [...items, { type: 'message', role: turn.role, content }]
}

/** A result that is nothing but text is sent as that text. */
const resultOf = ({ parts }: ToolResult): Json | Refusal =>
  parts.every(({ type }) => type === 'text')
    ? parts.map((part) => (part.type === 'text' ? part.text : '')).join('\n')
    : contentOf(parts)

const contentOf = (parts: readonly Part[]): readonly JsonObject[] | Refusal => writeEach(parts, partOf)

const partOf = (part: Part): readonly JsonObject[] | Refusal => {
  switch (part.type) {
    case 'text':
      return [{ type: 'input_text', text: part.text }]
    case 'image':
      return [present({ type: 'input_image', image_url: addressOf(part.media), detail: part.detail })]
    case 'audio':
      return refuseUnsupported('audio', 'audio')
    case 'document': {
      const { media, name } = part
      if ('url' in media) return [{ type: 'input_file', file_url: media.url }]
      if (/^(?:video|audio)\//.test(media.mediaType)) return refuseUnsupported('document', media.mediaType)
      if (media.mediaType === 'text/plain')
        return [{ type: 'input_text', text: Buffer.from(media.data, 'base64').toString('utf8') }]
      return [{ type: 'input_file', filename: name ?? 'document.pdf', file_data: addressOf(media) }]
    }
    default:
      return []
  }
}

/** What the model said before, each thing as an item of its own. */
const assistantItems = (turn: Turn): readonly JsonObject[] =>
  turn.parts.flatMap((part): JsonObject[] => {
    switch (part.type) {
      case 'thinking':
        return [itemOfThought(part) ?? []].flat()
      case 'text':
        return [said({ type: 'output_text', text: part.text, annotations: [] })]
      case 'refusal':
        return [said({ type: 'refusal', refusal: part.text })]
      case 'tool_call':
        return [{ type: 'function_call', call_id: part.id, name: part.name, arguments: part.arguments }]
      default:
        return []
    }
  })

const said = (content: JsonObject): JsonObject => ({ type: 'message', role: 'assistant', content: [content] })
