/**
 * Interactions, neutral form → answers, and the steps of earlier turns. Source of the format: npm @google/genai 3.3.0,
 * `Interaction`, `Step`.
 */
import { type JsonObject, present } from '../../core/json-body.ts'
import type { KeptAnswer } from '../bill-members.ts'
import type { Citation, Finish, Media, Part, Reply, Thinking, ToolCall } from '../neutral.ts'
import type { WriterContext } from '../stream-writer.ts'
import { citationsByText } from '../translate/citations.ts'
import { mediaTypeOf } from '../translate/media.ts'
import { idWith, writeHidden, writeSignature } from '../translate/signatures.ts'
import { argumentsOf } from '../translate/tool-arguments.ts'
import { interactionIdOf } from './names.ts'
import { interactionsUsage } from './usage.ts'

/** What the object says of itself. */
type Named = Pick<WriterContext, 'requestId' | 'created'>

/** The interaction around its steps. */
export const interactionObject = (
  { requestId, created }: Named,
  { model, status }: { readonly model: string; readonly status: string },
  steps: readonly JsonObject[],
): JsonObject => {
  const at = new Date(created * 1_000).toISOString().replace('.000', '')
  return {
    id: interactionIdOf(requestId),
    object: 'interaction',
    status,
    model,
    created: at,
    updated: at,
    steps,
  }
}

/** The member that names what the answer goes on from. */
export const keptMembers = (kept: KeptAnswer | undefined): JsonObject =>
  kept?.previous === undefined ? {} : { previous_interaction_id: kept.previous }

const statuses: Readonly<Record<Finish, string>> = {
  stop: 'completed',
  stop_sequence: 'completed',
  compaction: 'completed',
  tool_calls: 'requires_action',
  length: 'incomplete',
  content_filter: 'incomplete',
}

/** The members that say how an answer ended. */
export const endOf = (finish: Finish): JsonObject => ({
  status: statuses[finish],
  ...(finish === 'content_filter'
    ? { errors: [{ code: 'content_filter', message: "The vendor's safety filters ended the answer." }] }
    : {}),
})

/** Writes an answer in this dialect. */
export const writeInteractionsReply = (reply: Reply, context: WriterContext): JsonObject => {
  const [choice] = reply.choices
  const cited = citationsByText(choice?.parts ?? [], choice?.citations ?? [])
  const steps = stepsOf(choice?.parts ?? [], (part) => cited.get(part) ?? [])
  return {
    ...interactionObject(context, { model: reply.model, status: '' }, steps),
    ...endOf(choice?.finish ?? 'stop'),
    usage: interactionsUsage(reply.usage ?? {}),
  }
}

/** A call; one without its end is none. */
const callStep = (call: ToolCall): JsonObject | undefined => {
  const args = argumentsOf(call)
  return args && present({ ...calledStep(call), arguments: args })
}

/** What the model said, as steps: adjacent contents form one step. */
export const stepsOf = (
  parts: readonly Part[],
  citedBy: (part: Part) => readonly Citation[] = () => [],
  stepOfCall: (call: ToolCall) => JsonObject | undefined = callStep,
): readonly JsonObject[] => {
  const steps: JsonObject[] = []
  let open: JsonObject[] | undefined
  for (const part of parts) {
    const content = contentOf(part, citedBy(part))
    if (content === undefined) {
      open = undefined
      const step =
        part.type === 'thinking' ? thoughtStep(part) : part.type === 'tool_call' && stepOfCall(part)
      if (step) steps.push(step)
    } else if (open === undefined) {
      open = [content]
      steps.push({ type: 'model_output', content: open })
    } else open.push(content)
  }
  return steps
}

/** A part as a content; undefined if it is a step of its own, or none. */
export const contentOf = (part: Part, cited: readonly Citation[] = []): JsonObject | undefined => {
  switch (part.type) {
    case 'text':
      return textContent(part.text, cited)
    case 'refusal':
    case 'summary':
      return { type: 'text', text: part.text }
    case 'image':
      return mediaContent('image', part.media, 'image/png')
    case 'audio':
      return mediaContent('audio', part.media, 'audio/wav')
    case 'document':
      return mediaContent('document', part.media, 'application/pdf')
    default:
      return undefined
  }
}

const textContent = (text: string, cited: readonly Citation[]): JsonObject => ({
  type: 'text',
  text,
  ...(cited.length === 0 ? {} : { annotations: cited.map((one) => annotationOf(one, text)) }),
})

/** A source of a text; places are counted in bytes. */
export const annotationOf = ({ url, title, from, to }: Citation, text: string): JsonObject => {
  const bytesTo = (place: number) => Buffer.byteLength(text.slice(0, place))
  const places = { start_index: bytesTo(from), end_index: bytesTo(to) }
  return { type: 'url_citation', url, title: title ?? url, ...places }
}

const mediaContent = (type: string, media: Media, otherwise: string): JsonObject => {
  const mime_type = 'url' in media ? mediaTypeOf(media, otherwise) : media.mediaType
  const film = type === 'document' && mime_type.startsWith('video/') ? { type: 'video' } : { type }
  return 'url' in media ? { ...film, uri: media.url, mime_type } : { ...film, data: media.data, mime_type }
}

/** A thought without a text of its own has only its signature. */
export const thoughtStep = ({ text, signature, redacted }: Thinking): JsonObject => ({
  type: 'thought',
  ...(text === '' ? {} : { summary: [{ type: 'text', text }] }),
  ...(signature === undefined
    ? {}
    : { signature: (redacted === true ? writeHidden : writeSignature)(signature, 'gemini') }),
})

/** A call before its arguments; its signature travels in its id. */
export const calledStep = ({
  id,
  name,
  signature,
}: Pick<ToolCall, 'id' | 'name' | 'signature'>): JsonObject => ({
  type: 'function_call',
  id: idWith(id, signature),
  name,
  arguments: {},
})
