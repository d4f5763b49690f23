/** A whole answer as the steps of a stream, for callers who asked for a stream where the vendor gave none. */
import type { Usage } from '../core/usage.ts'
import type { CallerDialect } from './dialect.ts'
import type { Choice, Part, Piece, Reply } from './neutral.ts'
import type { StreamRelay } from './relay.ts'
import type { WriterContext } from './stream-writer.ts'
import { translatedRelay } from './translate/translate-stream.ts'

/** The stream of an answer: all but its end is in `first`. */
export type ReplyStream = { readonly stream: StreamRelay; readonly first: Uint8Array }

type Listener = {
  readonly caller: CallerDialect
  readonly context: WriterContext
  readonly listed: boolean | undefined
}

type Said = Omit<Reply, 'usage'> & { readonly usage?: Usage | undefined }

/** The caller's stream of a vendor's whole answer, with the tier in which the vendor says it served it. */
export const streamOfReply = (
  reply: Said & { readonly tier: string | undefined },
  { caller, context, listed }: Listener,
): ReplyStream => {
  const steps = [...stepsOf(reply), { type: 'end' as const }]
  const relay = translatedRelay(() => steps, caller.streamWriter(context, listed === true), caller)
  const first = relay.follow({ bytes: new Uint8Array(), data: 'all' }) ?? new Uint8Array()
  return { stream: { ...relay, tier: () => reply.tier }, first }
}

/** The steps that say all of an answer. */
export const stepsOf = ({ id, model, usage, choices, blocked, notCarried = [] }: Said): Piece[] => [
  { type: 'start', id, model },
  // Before the text, because some callers get the input's count first.
  ...(usage === undefined ? [] : [{ type: 'usage' as const, usage }]),
  ...notCarried.map((name) => ({ type: 'not_carried' as const, name })),
  ...(blocked === true ? [{ type: 'blocked' as const }] : []),
  ...choices.flatMap(stepsOfChoice),
]

const stepsOfChoice = (
  { parts, finish, stopSequence, logprobs, citations = [] }: Choice,
  choice: number,
): Piece[] => {
  const steps: Piece[] = []
  let [tools, length, cited] = [0, 0, 0]
  for (const part of parts) {
    if (part.type === 'tool_call') {
      const { id, name, signature, arguments: text } = part
      const index = tools++
      steps.push({ type: 'tool', choice, index, id, name, ...(signature === undefined ? {} : { signature }) })
      if (text !== '') steps.push({ type: 'arguments', choice, index, text })
    } else steps.push(...stepsOfPart(part, choice))
    if (part.type !== 'text') continue
    length += part.text.length
    // A source follows the text that it is the source of.
    while ((citations[cited]?.to ?? Number.POSITIVE_INFINITY) <= length) {
      const citation = citations[cited++]
      if (citation !== undefined) steps.push({ type: 'citation', choice, citation })
    }
  }
  for (const citation of citations.slice(cited)) steps.push({ type: 'citation', choice, citation })
  if (logprobs !== undefined) steps.push({ type: 'logprobs', choice, logprobs })
  steps.push({ type: 'finish', choice, finish, ...(stopSequence === undefined ? {} : { stopSequence }) })
  return steps
}

const stepsOfPart = (part: Part, choice: number): Piece[] => {
  switch (part.type) {
    case 'text':
    case 'refusal':
    case 'summary':
      return part.text === '' ? [] : [{ type: part.type, choice, text: part.text }]
    case 'thinking': {
      const { text, signature, redacted } = part
      return [
        ...(text === '' ? [] : [{ type: 'thinking' as const, choice, text }]),
        ...(signature === undefined
          ? []
          : [{ type: 'signature' as const, choice, signature, ...(redacted === true ? { redacted } : {}) }]),
      ]
    }
    case 'image':
      return [{ type: 'image', choice, image: part }]
    case 'audio':
      return [{ type: 'audio', choice, audio: part }]
    default:
      return []
  }
}
