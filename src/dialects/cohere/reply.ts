/** Cohere's chat, neutral form → whole answers and errors. Source of the format: npm cohere-ai 8.1.0, `V2ChatResponse`. */
import { type JsonBody, type JsonObject, present, splice } from '../../core/json-body.ts'
import { type Refusal, refusalBody } from '../../core/refusal.ts'
import { cachedTokens, inputTokens, outputTokens, type Usage } from '../../core/usage.ts'
import { type Billed, withBill } from '../bill-members.ts'
import type { Citation, Finish, Reply } from '../neutral.ts'
import { objectOf } from '../request/json-members.ts'
import { textIn } from '../translate/citations.ts'
import { idWith } from '../translate/signatures.ts'

const finishes: Readonly<Record<Finish, string>> = {
  stop: 'COMPLETE',
  compaction: 'COMPLETE',
  stop_sequence: 'STOP_SEQUENCE',
  tool_calls: 'TOOL_CALL',
  length: 'MAX_TOKENS',
  content_filter: 'ERROR',
}

/** The word for how an answer ended. */
export const finishReason = (finish: Finish): string => finishes[finish]

/** Writes an answer in this dialect. */
export const writeCohereReply = ({ id, choices, usage }: Reply): JsonObject => {
  const [{ parts, finish, citations = [] } = { parts: [], finish: 'stop' as const }] = choices
  const said = parts
    .map((part) => (part.type === 'text' || part.type === 'refusal' ? part.text : ''))
    .join('')
  const thoughts = parts.map((part) => (part.type === 'thinking' ? part.text : '')).join('')
  const content = [
    ...(thoughts === '' ? [] : [{ type: 'thinking', thinking: thoughts }]),
    ...(said === '' ? [] : [{ type: 'text', text: said }]),
  ]
  const calls = parts.flatMap((part) =>
    part.type === 'tool_call' ? [callOf(idWith(part.id, part.signature), part.name, part.arguments)] : [],
  )
  const text = textIn(parts)
  const cited = citations.map((one) =>
    citationOf(one, text, { at: Math.max(content.length - 1, 0), from: 0 }),
  )
  return {
    id,
    finish_reason: finishReason(finish),
    message: present({
      role: 'assistant',
      content: content.length === 0 ? undefined : content,
      tool_calls: calls.length === 0 ? undefined : calls,
      citations: cited.length === 0 ? undefined : cited,
    }),
    usage: cohereUsage(usage ?? {}),
  }
}

/** A call of a tool. */
export const callOf = (id: string, name: string, args: string): JsonObject => ({
  id,
  type: 'function',
  function: { name, arguments: args },
})

/** A source of a stretch of the text whose block begins at `from`. */
export const citationOf = (
  { url, title, quote, from, to }: Citation,
  text: string,
  block: { readonly at: number; readonly from: number },
): JsonObject => ({
  start: Math.max(from - block.from, 0),
  end: Math.max(to - block.from, 0),
  text: text.slice(from, to),
  sources: [{ type: 'document', id: url, document: present({ id: url, url, title, snippet: quote }) }],
  content_index: block.at,
  type: 'TEXT_CONTENT',
})

/** What was used; here the input has no classes but what was read from a cache. */
export const cohereUsage = (usage: Usage): JsonObject => {
  const tokens = { input_tokens: inputTokens(usage), output_tokens: outputTokens(usage) }
  const read = cachedTokens(usage)
  return { billed_units: tokens, tokens, ...(read === 0 ? {} : { cached_tokens: read }) }
}

/** The answer with its bill beside the counts. */
export const addCohereBill = (reply: JsonBody, { bill }: Billed): Uint8Array =>
  splice(reply, { usage: withBill(objectOf(reply.value.usage), bill) })

/** Errors are a message here, with our own members beside it. */
export const cohereError = (refusal: Refusal, requestId: string): JsonObject => ({
  id: requestId,
  ...refusalBody(refusal, requestId).error,
})
