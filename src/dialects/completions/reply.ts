/** Completions of a text, neutral form → answers, whole and as chunks. Source of the format: OpenAI API reference, "The completion object" (legacy). */
import type { JsonObject } from '../../core/json-body.ts'
import { costComment, keepAlive, membersSlot, withBill } from '../bill-members.ts'
import { chatUsage } from '../chat/reply.ts'
import type { Finish, Reply } from '../neutral.ts'
import type { StreamWriter, WriterContext } from '../stream-writer.ts'

const reasonOf = (finish: Finish): string =>
  finish === 'length' || finish === 'content_filter' ? finish : 'stop'

const choiceOf = (index: number, text: string, finish: Finish | undefined): JsonObject => ({
  index,
  text,
  logprobs: null,
  finish_reason: finish === undefined ? null : reasonOf(finish),
})

/** Writes an answer in this dialect. */
export const writeCompletion = (reply: Reply, { created }: WriterContext): JsonObject => ({
  id: reply.id,
  object: 'text_completion',
  created,
  model: reply.model,
  choices: reply.choices.map(({ parts, finish }, index) => {
    const text = parts
      .map((part) => (part.type === 'text' || part.type === 'refusal' ? part.text : ''))
      .join('')
    return choiceOf(index, text, finish)
  }),
  usage: chatUsage(reply.usage ?? {}),
})

export const completionsStreamWriter = (context: WriterContext): StreamWriter => {
  let head: JsonObject = { id: context.requestId, model: context.modelName }
  const finishes = new Map<number, Finish>()
  const chunk = (choices: readonly JsonObject[], more = ''): string => {
    const whole = { ...head, object: 'text_completion', created: context.created, choices }
    return `data: ${JSON.stringify(whole).slice(0, -1)}${more}}\n\n`
  }
  return {
    write: (piece) => {
      switch (piece.type) {
        case 'start':
          head = { id: piece.id || context.requestId, model: piece.model || context.modelName }
          return ''
        case 'text':
        case 'refusal':
          return chunk([choiceOf(piece.choice, piece.text, undefined)])
        case 'finish':
          finishes.set(piece.choice, piece.finish)
          return ''
        default:
          return piece.type === 'ping' ? keepAlive : ''
      }
    },
    end: ({ usage, bill, cut, showUsage }) => {
      if (finishes.size === 0) finishes.set(0, cut ? 'length' : 'stop')
      const stops = [...finishes].map(([index, finish]) => chunk([choiceOf(index, '', finish)]))
      const counts = showUsage ? chunk([], `,"usage":${withBill(chatUsage(usage), bill)}${membersSlot}`) : ''
      return `${stops.join('')}${counts}${costComment(bill)}data: [DONE]\n\n`
    },
    fail: (error) => `data: ${JSON.stringify({ error })}\n\n`,
  }
}
