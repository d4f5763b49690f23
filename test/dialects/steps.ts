/** Whole answers as the steps of a stream, and back. */

import { filled } from '../../src/dialects/bill-members.ts'
import type { Choice, Part, Piece, Reply } from '../../src/dialects/neutral.ts'
import { stepsOf as wholeSteps } from '../../src/dialects/reply-steps.ts'
import type { StreamWriter } from '../../src/dialects/stream-writer.ts'
import { translatedRelay } from '../../src/dialects/translate/translate-stream.ts'

export const context = (request: object = {}, requestId = '019aaaaa-0000-7000-8000-00000000abcd') => ({
  requestId,
  created: 1_795_000_000,
  modelName: 'mock/small',
  estimatedInput: () => 42,
  request: request as never,
  seal: (summary: string) => `sealed ${summary}`,
})

export const billed = {
  usage: { input: 10, output: 5 },
  bill: { cost: '0.00006', details: { input: '0.00001', output: '0.00005' }, estimated: false },
  cut: false,
  showUsage: true,
}

/** The dialects of vendors that callers speak too. */
export type SharedDialectId = 'chat' | 'messages' | 'gemini' | 'responses' | 'interactions'
/** All dialects of vendors. */
export type WrittenId = SharedDialectId | 'converse'

/** The steps that make up a reply, its texts cut into pieces of `size`. */
export const stepsOf = (reply: Omit<Reply, 'usage'>, size = 3): Piece[] =>
  wholeSteps(reply).flatMap((step): Piece[] =>
    'text' in step ? cut(step.text, size).map((text) => ({ ...step, text })) : [step],
  )

const cut = (text: string, size: number): string[] => {
  const whole = [...text]
  return Array.from({ length: Math.ceil(whole.length / size) }, (_, at) =>
    whole.slice(at * size, (at + 1) * size).join(''),
  )
}

/** The reply that the steps make up. */
export const replyFrom = (steps: readonly Piece[]): Reply & { ended: boolean; errors: number } => {
  const choices: { parts: Part[]; finish: Choice['finish']; stopSequence?: string }[] = []
  const at = (index: number) => {
    const choice = choices[index] ?? { parts: [], finish: 'stop' }
    choices[index] = choice
    return choice
  }
  const reply = { id: '', model: '', usage: undefined as Reply['usage'], ended: false, errors: 0 }
  const tools = new Map<string, number>()
  for (const step of steps) {
    switch (step.type) {
      case 'start':
        reply.id = step.id
        reply.model = step.model
        break
      case 'usage':
        reply.usage = step.usage
        break
      case 'end':
        reply.ended = true
        break
      case 'error':
        reply.errors++
        break
      case 'finish':
        at(step.choice).finish = step.finish
        if (step.stopSequence !== undefined) at(step.choice).stopSequence = step.stopSequence
        break
      case 'tool': {
        const { choice, index, ...call } = step
        const { parts } = at(choice)
        tools.set(`${choice}/${index}`, parts.length)
        parts.push({ ...call, type: 'tool_call', arguments: '' })
        break
      }
      case 'arguments': {
        const { parts } = at(step.choice)
        const place = tools.get(`${step.choice}/${step.index}`)
        const call = place === undefined ? undefined : parts[place]
        if (place === undefined || call?.type !== 'tool_call') throw new Error('arguments of no tool')
        parts[place] = { ...call, arguments: call.arguments + step.text }
        break
      }
      case 'image':
        at(step.choice).parts.push(step.image)
        break
      case 'signature': {
        const { parts } = at(step.choice)
        const last = parts.at(-1)
        if (step.redacted !== true && last?.type === 'thinking' && last.signature === undefined)
          parts[parts.length - 1] = { ...last, signature: step.signature }
        else
          parts.push({
            type: 'thinking',
            text: '',
            signature: step.signature,
            ...(step.redacted === true ? { redacted: true } : {}),
          })
        break
      }
      case 'text':
      case 'refusal':
      case 'thinking': {
        const { parts } = at(step.choice)
        const last = parts.at(-1)
        if (last?.type === step.type && !('signature' in last && last.signature !== undefined))
          parts[parts.length - 1] = { ...last, text: (last as { text: string }).text + step.text } as Part
        else parts.push({ type: step.type, text: step.text })
        break
      }
      default:
    }
  }
  return { ...reply, choices }
}

/** The end of a stream as it is sent, with its slots left empty. */
export const closing = (text: string): Uint8Array =>
  new TextEncoder().encode(filled(text, undefined, undefined))

/** The bytes a caller gets for steps that end well. */
export const streamOf = (steps: readonly Piece[], writer: StreamWriter, ending = billed): Uint8Array => {
  const relay = translatedRelay(() => steps, writer)
  const body = relay.follow({ data: '-', bytes: new Uint8Array() }) ?? new Uint8Array()
  return Buffer.concat([body, closing(relay.end(ending))])
}
