/**
 * Compaction by any model: the conversation is sent with a request for a summary after it, and what the model writes is
 * given to the caller as the summary that takes the conversation's place.
 */
import type { Choice, Conversation, Finish, Part, Piece, Reply } from '../neutral.ts'
import type { StreamWriter } from '../stream-writer.ts'
import type { Quirks } from './vendor-call.ts'

/** What the model is asked, after the conversation. */
export const SUMMARY_PROMPT = `Write the summary that will take the place of this conversation. Whoever continues will read \
the summary and none of the turns above, so it must hold all that is needed to go on: what the user asked for and every rule the \
user set; what was done, found and decided, and why; names, paths, commands, values and error messages letter by letter; how \
things stand now; what is still to be done, and the next step. If an earlier summary is among the turns, keep what still holds \
of it. Call no tool, and answer with nothing but the summary.`

const INTRODUCTION = `The turns before this point were replaced by this summary of them. Continue from it:\n\n`

/** A summary as the model reads it, in place of the turns. */
export const asTold = (summary: string): string => INTRODUCTION + summary

/** Whether a text tells a summary. */
export const isTold = (text: string): boolean => text.startsWith(INTRODUCTION)

/**
 * The conversation with the request for its summary. Its tools stay: calls in it refer to them. The model may use none;
 * but where another choice of tools than that of the turns before would empty the vendor's cache, only the prompt says so.
 */
export const asksSummary = (
  it: Conversation,
  prompt: string,
  { cacheMarks }: Pick<Quirks, 'cacheMarks'>,
): Conversation => {
  const { format: _format, toolChoice, makes: _makes, ...rest } = it
  const stays = cacheMarks === true && (toolChoice?.type ?? 'auto') === 'auto'
  return {
    ...rest,
    turns: [...it.turns, { role: 'user', parts: [{ type: 'text', text: prompt }] }],
    ...(it.tools.length === 0 ? {} : { toolChoice: stays ? toolChoice : { type: 'none' } }),
    stop: [],
    choices: 1,
  }
}

/** What is wrong with an answer that holds no summary: one that calls a tool goes on with the work instead. */
export const NO_SUMMARY = 'the model wrote no summary'

const textIn = ({ parts }: Choice): string =>
  parts.map((part) => (part.type === 'text' ? part.text : '')).join('')

const ended = (finish: Finish): Finish =>
  finish === 'length' || finish === 'content_filter' ? finish : 'compaction'

/** The answer with its text as the summary. Thoughts and calls beside it are of no use to anybody. */
export const withSummary = (reply: Omit<Reply, 'usage'>): Omit<Reply, 'usage'> => ({
  ...reply,
  choices: reply.choices.map((choice): Choice => {
    const text = textIn(choice)
    const isOne = text.trim() !== '' && !choice.parts.some(({ type }) => type === 'tool_call')
    const parts: readonly Part[] = isOne ? [{ type: 'summary', text }] : []
    return { parts, finish: ended(choice.finish) }
  }),
})

export const hasSummary = ({ choices }: Omit<Reply, 'usage'>): boolean =>
  choices.some(({ parts }) => parts.length > 0)

/** The steps of a stream; one that ends without a summary ends in an error. */
export const summarySteps = (
  read: (data: string) => readonly Piece[],
): ((data: string) => readonly Piece[]) => {
  let wrote = false
  let called = false
  const checked = (piece: Piece): Piece => {
    if (piece.type === 'text') wrote ||= piece.text.trim() !== ''
    if (piece.type === 'tool') called = true
    if (piece.type !== 'finish') return piece
    if (!wrote || called) return { type: 'error', error: { message: NO_SUMMARY } }
    return { ...piece, finish: ended(piece.finish) }
  }
  return (data) => read(data).map(checked)
}

/** What else a model may say: it is counted and charged, but not written. */
const unwritten: ReadonlySet<Piece['type']> = new Set<Piece['type']>([
  'thinking',
  'signature',
  'refusal',
  'tool',
  'arguments',
  'citation',
  'logprobs',
  'image',
  'audio',
])

/** Writes the text of a stream as the summary, which arrives whole; a sign of life stands for each piece of it. */
export const summaryWriter = (writer: StreamWriter): StreamWriter => {
  let text = ''
  const rest = (): string => {
    const said = text === '' ? '' : writer.write({ type: 'summary', choice: 0, text })
    text = ''
    return said
  }
  return {
    write: (piece) => {
      if (unwritten.has(piece.type)) return ''
      if (piece.type !== 'text') return (piece.type === 'finish' ? rest() : '') + writer.write(piece)
      text += piece.text
      return writer.write({ type: 'compacting' })
    },
    end: (ending) => rest() + writer.end(ending),
    fail: (error) => writer.fail(error),
  }
}
