/** Responses, neutral form → answer. Source of the format: OpenAI API reference, "The response object". */
import { isObject, type JsonObject, parseJson, present } from '../../core/json-body.ts'
import type { KeptAnswer } from '../bill-members.ts'
import type { Choice, Citation, Finish, Image, Part, Reply, Thinking, ToolCall } from '../neutral.ts'
import { objectOf, textOf } from '../request/json-members.ts'
import type { WriterContext } from '../stream-writer.ts'
import { citationsByText } from '../translate/citations.ts'
import { mediaTypeOf } from '../translate/media.ts'
import { idWith } from '../translate/signatures.ts'
import { sealThoughts } from './thoughts.ts'
import { type Declared, declaredTools } from './tools.ts'
import { responsesUsage } from './usage.ts'

export type Status = 'queued' | 'in_progress' | 'completed' | 'incomplete' | 'failed' | 'cancelled'

/** Of an answer, and of its last item: with the others it is complete. */
export const statusOf = (finish: Finish): 'completed' | 'incomplete' =>
  finish === 'length' || finish === 'content_filter' ? 'incomplete' : 'completed'

/** What the response object repeats. */
type Asked = Pick<WriterContext, 'requestId' | 'created' | 'request'>

/** The response object around its items. */
export const responseObject = (
  context: Asked,
  state: { readonly id: string; readonly model: string; readonly status: Status; readonly finish?: Finish },
  output: readonly JsonObject[],
): JsonObject => {
  const { request } = context
  return {
    id: state.id,
    object: 'response',
    created_at: context.created,
    status: state.status,
    background: false,
    error: null,
    incomplete_details:
      state.status === 'incomplete'
        ? { reason: state.finish === 'length' ? 'max_output_tokens' : 'content_filter' }
        : null,
    instructions: textOf(request.instructions) ?? null,
    max_output_tokens: request.max_output_tokens ?? null,
    model: state.model,
    output,
    parallel_tool_calls: request.parallel_tool_calls ?? true,
    previous_response_id: null,
    reasoning: { effort: objectOf(request.reasoning).effort ?? null, summary: null },
    store: false,
    temperature: request.temperature ?? null,
    text: request.text ?? { format: { type: 'text' } },
    tool_choice: request.tool_choice ?? 'auto',
    tools: request.tools ?? [],
    top_p: request.top_p ?? null,
    truncation: 'disabled',
    usage: null,
    user: request.user ?? null,
    metadata: request.metadata ?? {},
  }
}

/** The members that say whether the answer is kept. None if it is not: the answer's default says so. */
export const keptMembers = (kept: KeptAnswer | undefined): JsonObject =>
  kept === undefined
    ? {}
    : {
        ...(kept.stored ? { store: true } : {}),
        ...(kept.background === undefined ? {} : { background: true }),
        previous_response_id: kept.previous ?? null,
        ...(kept.conversation === undefined ? {} : { conversation: { id: kept.conversation } }),
      }

/** The answer's name: the call's, since a response is kept under it and some vendors name many answers the same. */
export const responseIdOf = (callId: string): string => `resp_${callId.replaceAll(/[^\w]/g, '')}`

export const responseId = ({ requestId }: Pick<Asked, 'requestId'>): string => responseIdOf(requestId)

/** Writes an answer in this dialect. */
export const writeResponsesReply = (reply: Reply, context: WriterContext): JsonObject => {
  const [choice] = reply.choices
  const finish = choice?.finish ?? 'stop'
  const id = responseId(context)
  const items = itemsOf(choice, id, declaredTools(context.request), context.seal)
  const status = statusOf(finish)
  const last = items.at(-1)
  const output = last?.status === 'completed' ? items.with(-1, { ...last, status }) : items
  return {
    ...responseObject(context, { id, model: reply.model, status, finish }, output),
    usage: responsesUsage(reply.usage ?? {}),
  }
}

/** The items of an answer: adjacent parts of one kind form one item. */
const itemsOf = (
  choice: Choice | undefined,
  id: string,
  declared: Declared,
  seal: WriterContext['seal'],
): readonly JsonObject[] => {
  const parts = choice?.parts ?? []
  const cited = citationsByText(parts, choice?.citations ?? [])
  const items: JsonObject[] = []
  let thoughts: Thinking[] = []
  let texts: Part[] = []
  const close = () => {
    const itemId = `${id.slice('resp_'.length)}_${items.length}`
    if (thoughts.length > 0) items.push(reasoningItem(`rs_${itemId}`, thoughts))
    if (texts.length > 0)
      items.push(
        messageItem(
          `msg_${itemId}`,
          texts.map((part) => contentOf(part, cited.get(part) ?? [])),
          'completed',
        ),
      )
    thoughts = []
    texts = []
  }
  for (const part of parts) {
    if (part.type === 'thinking') {
      if (texts.length > 0) close()
      thoughts.push(part)
    } else if (part.type === 'text' || part.type === 'refusal') {
      if (thoughts.length > 0) close()
      texts.push(part)
    } else if (part.type === 'image') {
      close()
      items.push(imageItem(`ig_${id.slice('resp_'.length)}_${items.length}`, part))
    } else if (part.type === 'summary') {
      items.push(compactionItem(`cmp_${id.slice('resp_'.length)}_${items.length}`, seal(part.text)))
    } else if (part.type === 'tool_call') {
      close()
      items.push(callItem(`fc_${id.slice('resp_'.length)}_${items.length}`, part, declared, 'completed'))
    }
  }
  close()
  return items
}

const contentOf = (part: Part, cited: readonly Citation[]): JsonObject =>
  part.type === 'refusal'
    ? { type: 'refusal', refusal: part.text }
    : textContent(part.type === 'text' ? part.text : '', cited)

export const textContent = (text: string, cited: readonly Citation[]): JsonObject => ({
  type: 'output_text',
  text,
  annotations: cited.map(annotationOf),
  logprobs: [],
})

/** The sources of a text. */
export const annotationOf = ({ url, title, from, to }: Citation): JsonObject => ({
  type: 'url_citation',
  url,
  title: title ?? url,
  start_index: from,
  end_index: to,
})

type ItemStatus = 'in_progress' | 'completed' | 'incomplete'

export const messageItem = (id: string, content: readonly JsonObject[], status: ItemStatus): JsonObject => ({
  id,
  type: 'message',
  status,
  role: 'assistant',
  content,
})

export const reasoningItem = (id: string, thoughts: readonly Thinking[]): JsonObject => {
  const text = thoughts.map((thought) => thought.text).join('')
  // Thoughts without a signature are sealed too, because some clients send nothing else back.
  const sealed = thoughts.length === 0 ? undefined : sealThoughts(thoughts)
  return present({
    id,
    type: 'reasoning',
    summary: text === '' ? [] : [{ type: 'summary_text', text }],
    encrypted_content: sealed,
  })
}

export const compactionItem = (id: string, encrypted_content: string): JsonObject => ({
  id,
  type: 'compaction',
  encrypted_content,
})

/** An image goes where this dialect puts those of its own image tool. */
export const imageItem = (id: string, { media }: Image): JsonObject => ({
  id,
  type: 'image_generation_call',
  status: 'completed',
  output_format: mediaTypeOf(media, 'image/png').slice('image/'.length),
  result: 'url' in media ? media.url : media.data,
})

export const callItem = (id: string, call: ToolCall, declared: Declared, status: ItemStatus): JsonObject => {
  const call_id = idWith(call.id, call.signature)
  const { name, namespace, custom } = declared.get(call.name) ?? { name: call.name }
  const named = { name, ...(namespace === undefined ? {} : { namespace }) }
  if (custom !== true)
    return { id, type: 'function_call', status, call_id, ...named, arguments: call.arguments }
  const value = parseJson(call.arguments)
  // Unreadable arguments are passed on as they are: the tool takes any text.
  const input = isObject(value) ? (textOf(value.input) ?? '') : call.arguments
  return { id, type: 'custom_tool_call', status, call_id, ...named, input }
}
