/**
 * Ollama's chat and generate, neutral form → answers, whole and as lines, and errors. Source of the format: npm ollama
 * 0.6.4, `ChatResponse`, `GenerateResponse`. How long something took is not said: it is our time, not a model's.
 */
import { type JsonBody, type JsonObject, present } from '../../core/json-body.ts'
import { type Refusal, refusalBody } from '../../core/refusal.ts'
import { inputTokens, outputTokens, type Usage } from '../../core/usage.ts'
import { type Billed, membersSlot, withBill } from '../bill-members.ts'
import { notCarriedMember } from '../gemini/write-stream.ts'
import type { Finish, Image, Piece, Reply, ToolCall } from '../neutral.ts'
import { objectOf } from '../request/json-members.ts'
import type { StreamWriter, WriterContext } from '../stream-writer.ts'
import { idWith } from '../translate/signatures.ts'
import { argumentsOf } from '../translate/tool-arguments.ts'
import { isGenerate } from './request.ts'

/** What one line, or the whole, says. */
type Said = {
  readonly text?: string
  readonly thinking?: string
  readonly calls?: readonly ToolCall[]
  readonly images?: readonly Image[]
}

const said = ({ request, created, modelName }: WriterContext, { text = '', ...more }: Said): JsonObject => {
  const head = { model: modelName, created_at: new Date(created * 1_000).toISOString() }
  const calls = (more.calls ?? []).flatMap((call, index) => {
    const args = argumentsOf(call)
    const id = idWith(call.id, call.signature)
    return args === undefined ? [] : [{ id, function: { index, name: call.name, arguments: args } }]
  })
  const images = (more.images ?? []).flatMap(({ media }) => ('data' in media ? [media.data] : []))
  const thinking = more.thinking || undefined
  if (isGenerate(request)) return present({ ...head, response: text, thinking })
  const message = present({
    role: 'assistant',
    content: text,
    thinking,
    images: images.length === 0 ? undefined : images,
    tool_calls: calls.length === 0 ? undefined : calls,
  })
  return { ...head, message }
}

const endOf = (finish: Finish, usage: Usage): JsonObject => ({
  done: true,
  done_reason: finish === 'length' || finish === 'content_filter' ? finish : 'stop',
  prompt_eval_count: inputTokens(usage),
  eval_count: outputTokens(usage),
})

/** Writes an answer in this dialect. */
export const writeOllamaReply = ({ choices, usage }: Reply, context: WriterContext): JsonObject => {
  const [choice] = choices
  const parts = choice?.parts ?? []
  const textsOf = (...types: readonly string[]) =>
    parts.map((part) => (types.includes(part.type) && 'text' in part ? part.text : '')).join('')
  return present({
    ...said(context, {
      text: textsOf('text', 'refusal'),
      thinking: textsOf('thinking'),
      calls: parts.filter((part) => part.type === 'tool_call'),
      images: parts.filter((part) => part.type === 'image'),
    }),
    ...endOf(choice?.finish ?? 'stop', usage ?? {}),
    logprobs: objectOf(choice?.logprobs).content,
  })
}

/** The answer with its bill after its own members: the counts are among them. */
export const addOllamaBill = ({ value }: JsonBody, { bill }: Billed): Uint8Array =>
  new TextEncoder().encode(withBill(value, bill))

/** Errors are one text here, with our own members beside it. */
const errorOf = ({ message, ...members }: JsonObject): JsonObject => ({ error: message ?? '', ...members })

export const ollamaError = (refusal: Refusal, requestId: string): JsonObject =>
  errorOf(refusalBody(refusal, requestId).error)

export const ollamaStreamWriter = (context: WriterContext): StreamWriter => {
  let finish: Finish = 'stop'
  /** Calls are written whole, so the arguments are gathered until the next step. */
  let call: ToolCall | undefined
  const line = (what: Said, more: JsonObject = {}): string =>
    `${JSON.stringify({ ...said(context, what), done: false, ...more })}\n`
  const flush = (): string => {
    const made = call
    call = undefined
    return made === undefined || argumentsOf(made) === undefined ? '' : line({ calls: [made] })
  }
  const write = (piece: Piece): string => {
    switch (piece.type) {
      case 'text':
      case 'refusal':
        return flush() + line({ text: piece.text })
      case 'thinking':
        return flush() + line({ thinking: piece.text })
      case 'image':
        return flush() + line({ images: [piece.image] })
      case 'logprobs':
        return line({}, present({ logprobs: objectOf(piece.logprobs).content }))
      case 'tool': {
        const before = flush()
        const { id, name, signature } = piece
        call = present({ type: 'tool_call' as const, id, name, arguments: '', signature })
        return before
      }
      case 'arguments':
        if (call !== undefined) call = { ...call, arguments: call.arguments + piece.text }
        return ''
      case 'finish':
        finish = piece.finish
        return ''
      default:
        return ''
    }
  }
  return {
    write: (piece) => ('choice' in piece && piece.choice > 0 ? '' : write(piece)),
    end: ({ usage, bill, cut, notCarried = [] }) => {
      // If the money ends before a call's arguments are complete, the call is not written.
      const before = cut ? '' : flush()
      const last = {
        ...said(context, {}),
        ...endOf(cut ? 'length' : finish, usage),
        ...notCarriedMember(notCarried),
      }
      return `${before}${withBill(last, bill).slice(0, -1)}${membersSlot}}\n`
    },
    fail: (error) => `${JSON.stringify(errorOf(error))}\n`,
  }
}
