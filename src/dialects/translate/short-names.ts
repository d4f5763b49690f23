/**
 * Names and ids that are longer than a vendor takes, or use letters it does not know. In the request each is replaced
 * by a short form, made of its hash so that every turn of a conversation has the same one. In the answer the original
 * name returns.
 */
import type { Choice, Conversation, Part, Piece, Reply, ToolChoice } from '../neutral.ts'

const hashOf = (text: string): string => new Bun.CryptoHasher('sha256').update(text).digest('hex')

/** The text itself, or its hash if the text is longer than a vendor takes. */
export const within = (text: string, most: number): string =>
  text.length <= most ? text : hashOf(text).slice(0, most)

/** What a vendor takes as the name of a tool and the id of a call; each pattern must end at the end of the text. */
export type Names = { readonly tool: RegExp; readonly toolMax: number; readonly idMax: number }

const HASH_DIGITS = 10

const shortName = (name: string, { tool, toolMax }: Names): string => {
  if (tool.test(name) && name.length <= toolMax) return name
  const readable = name.replaceAll(/[^a-zA-Z0-9_-]/g, '_').slice(0, toolMax - HASH_DIGITS - 2)
  return `${/^[a-zA-Z_]/.test(readable) ? '' : '_'}${readable}_${hashOf(name).slice(0, HASH_DIGITS)}`.slice(
    -toolMax,
  )
}

type Shortened = {
  readonly conversation: Conversation
  /** The reverse, for a whole answer and for the steps of a stream. */
  readonly reply: (reply: Omit<Reply, 'usage'>) => Omit<Reply, 'usage'>
  readonly steps: (read: (data: string) => readonly Piece[]) => (data: string) => readonly Piece[]
}

/** The conversation with names and ids that the vendor takes. */
export const withShortNames = (it: Conversation, names: Names): Shortened => {
  const long = new Map<string, string>()
  const short = (name: string): string => {
    const made = shortName(name, names)
    if (made !== name) long.set(made, name)
    return made
  }
  const id = (one: string): string => within(one, names.idMax)
  const part = (one: Part): Part => {
    if (one.type === 'tool_call') return { ...one, id: id(one.id), name: short(one.name) }
    if (one.type !== 'tool_result') return one
    return { ...one, id: id(one.id), ...(one.name === undefined ? {} : { name: short(one.name) }) }
  }
  const conversation = {
    ...it,
    tools: it.tools.map((tool) => ({ ...tool, name: short(tool.name) })),
    turns: it.turns.map((turn) => ({ ...turn, parts: turn.parts.map(part) })),
    ...(it.toolChoice === undefined ? {} : { toolChoice: choiceWith(it.toolChoice, short) }),
  }
  const back = (name: string): string => long.get(name) ?? name
  return {
    conversation,
    reply: (reply) =>
      long.size === 0 ? reply : { ...reply, choices: reply.choices.map((one) => named(one, back)) },
    steps: (read) =>
      long.size === 0
        ? read
        : (data) =>
            read(data).map((piece) => (piece.type === 'tool' ? { ...piece, name: back(piece.name) } : piece)),
  }
}

const choiceWith = (choice: ToolChoice, short: (name: string) => string): ToolChoice =>
  choice.type === 'named' ? { ...choice, name: short(choice.name) } : choice

const named = (choice: Choice, back: (name: string) => string): Choice => ({
  ...choice,
  parts: choice.parts.map((part) => (part.type === 'tool_call' ? { ...part, name: back(part.name) } : part)),
})
