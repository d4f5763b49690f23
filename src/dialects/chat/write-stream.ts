/** Chat completions, steps in the neutral form → events for the caller. Source of the format: OpenAI API reference, "The chat completion chunk object". */
import type { JsonObject } from '../../core/json-body.ts'
import { costComment, keepAlive, membersSlot, withBill } from '../bill-members.ts'
import type { Finish, Piece } from '../neutral.ts'
import type { Ending, StreamWriter, WriterContext } from '../stream-writer.ts'
import { addressOf } from '../translate/media.ts'
import { idWith } from '../translate/signatures.ts'
import { annotationOf } from './annotations.ts'
import { asksOlder, callsIn, reasonOf } from './older-calls.ts'
import { chatUsage, detailOf, soundIn } from './reply.ts'

export const chatStreamWriter = (context: WriterContext): StreamWriter => {
  const older = asksOlder(context.request)
  let head: JsonObject = headOf(context.requestId, context.modelName, context.created)
  const begun = new Set<number>()
  /**
   * Each choice's present thought, to be repeated with its signature so that clients send both back together; and how
   * many thoughts were signed before.
   */
  const thoughts = new Map<number, { text: string; signed: number }>()
  const finishes = new Map<number, Finish>()
  const chunk = (choices: readonly JsonObject[], more = ''): string =>
    `data: ${JSON.stringify({ ...head, choices }).slice(0, -1)}${more}}\n\n`
  const delta = (index: number, content: JsonObject): string => {
    const role = begun.has(index) ? {} : { role: 'assistant' }
    begun.add(index)
    return chunk([{ index, delta: { ...role, ...content }, finish_reason: null }])
  }
  const thoughtOf = (choice: number) => {
    const thought = thoughts.get(choice) ?? { text: '', signed: 0 }
    thoughts.set(choice, thought)
    return thought
  }
  const signed = ({ choice, signature, redacted }: Piece & { type: 'signature' }): JsonObject => {
    const thought = thoughtOf(choice)
    const { text } = thought
    if (redacted !== true) thought.text = ''
    const detail =
      redacted === true
        ? detailOf({ type: 'thinking', text: '', signature, redacted })
        : detailOf({ type: 'thinking', text, signature })
    return { reasoning_details: [{ ...detail, index: thought.signed++ }] }
  }
  return {
    write: (piece) => {
      if (piece.type === 'start') {
        head = headOf(piece.id || context.requestId, piece.model || context.modelName, context.created)
        return delta(0, { content: '' })
      }
      if (piece.type === 'ping') return keepAlive
      if (piece.type === 'finish') finishes.set(piece.choice, piece.finish)
      if (piece.type === 'logprobs')
        return chunk([{ index: piece.choice, delta: {}, logprobs: piece.logprobs, finish_reason: null }])
      if (piece.type === 'audio')
        return delta(piece.choice, { audio: { id: `audio_${head.id}`, data: soundIn(piece.audio) } })
      const content = piece.type === 'signature' ? signed(piece) : contentOf(piece, older)
      if (piece.type === 'thinking') thoughtOf(piece.choice).text += piece.text
      return content === undefined || !('choice' in piece) ? '' : delta(piece.choice, content)
    },
    end: (ending) => {
      if (finishes.size === 0) finishes.set(0, ending.cut ? 'length' : 'stop')
      const stops = [...finishes].map(([index, finish]) =>
        chunk([{ index, delta: {}, finish_reason: reasonOf(older, finish) }]),
      )
      return `${stops.join('')}${usageEvent(ending, chunk)}${costComment(ending.bill)}data: [DONE]\n\n`
    },
    fail: (error) => `data: ${JSON.stringify({ error })}\n\n`,
  }
}

const headOf = (id: string, model: string, created: number): JsonObject => ({
  id,
  object: 'chat.completion.chunk',
  created,
  model,
})

const usageEvent = (
  ending: Ending,
  chunk: (choices: readonly JsonObject[], more: string) => string,
): string =>
  ending.showUsage
    ? chunk([], `,"usage":${withBill(chatUsage(ending.usage), ending.bill)}${membersSlot}`)
    : ''

const contentOf = (piece: Piece, older: boolean): JsonObject | undefined => {
  switch (piece.type) {
    case 'text':
      return { content: piece.text }
    case 'thinking':
      return { reasoning_content: piece.text }
    case 'refusal':
      return { refusal: piece.text }
    case 'image':
      return { images: [{ type: 'image_url', image_url: { url: addressOf(piece.image.media) } }] }
    case 'citation':
      return { annotations: [annotationOf(piece.citation)] }
    case 'tool':
      return callsIn(older, [
        {
          index: piece.index,
          id: idWith(piece.id, piece.signature),
          type: 'function',
          function: { name: piece.name, arguments: '' },
        },
      ])
    case 'arguments':
      return callsIn(older, [{ index: piece.index, function: { arguments: piece.text } }])
    default:
      return undefined
  }
}
