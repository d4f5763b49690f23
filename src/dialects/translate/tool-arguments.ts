/**
 * Arguments of tools as objects, for dialects that have no place for their text. Models write the text, and some end in
 * the middle of it; an empty object in its place would be another call.
 */
import { parseExact } from '../../core/exact-json.ts'
import { isObject, type JsonObject } from '../../core/json-body.ts'
import type { Choice, Part, Piece, Reply, ToolCall } from '../neutral.ts'

/** The object that the arguments are, with all digits; undefined if they are none. No text at all is no arguments. */
export const argumentsOf = ({ arguments: text }: Pick<ToolCall, 'arguments'>): JsonObject | undefined => {
  const value = text.trim() === '' ? {} : parseExact(text)
  return isObject(value) ? value : undefined
}

/** Under this name a call of an earlier turn says what it could not read. */
const UNREADABLE = 'unreadable_arguments'

/**
 * The arguments of a call of an earlier turn. The conversation goes on with what the model wrote: refusing it would end
 * a session for good.
 */
export const pastArguments = (call: ToolCall): JsonObject =>
  argumentsOf(call) ?? { [UNREADABLE]: call.arguments }

const unreadable = (name: string): string =>
  `the model wrote arguments for the tool '${name}' that are not a JSON object`

type Whole = Omit<Reply, 'usage'>

/**
 * An answer for a dialect that writes arguments as objects. A call that the model did not finish, because it had no more
 * tokens, is left out. With any other that cannot be read there is no answer, only the fault.
 */
export const readableCalls = (
  reply: Whole,
): { readonly reply: Whole; readonly fault: string | undefined } => {
  const bad = ({ parts }: Choice) =>
    parts.filter((part): part is ToolCall => part.type === 'tool_call' && argumentsOf(part) === undefined)
  const [fault] = reply.choices.filter(({ finish }) => finish !== 'length').flatMap(bad)
  const cut = new Set<Part>(reply.choices.flatMap(bad))
  if (cut.size === 0) return { reply, fault: undefined }
  const choices = reply.choices.map((choice) => ({
    ...choice,
    parts: choice.parts.filter((part) => !cut.has(part)),
  }))
  return { reply: { ...reply, choices }, fault: fault === undefined ? undefined : unreadable(fault.name) }
}

/** Follows the calls of a stream; says what is wrong with one that has ended, before the step that comes after it. */
export const newArgumentsWatch = () => {
  const open = new Map<number, { readonly name: string; text: string }>()
  const ended = (choice: number): string | undefined => {
    const call = open.get(choice)
    open.delete(choice)
    return call === undefined || argumentsOf({ arguments: call.text }) !== undefined
      ? undefined
      : unreadable(call.name)
  }
  return (piece: Piece): string | undefined => {
    if (piece.type === 'arguments') {
      const call = open.get(piece.choice)
      if (call !== undefined) call.text += piece.text
      return undefined
    }
    if (piece.type === 'finish') return piece.finish === 'length' ? undefined : ended(piece.choice)
    if (piece.type !== 'tool') return undefined
    const fault = ended(piece.choice)
    open.set(piece.choice, { name: piece.name, text: '' })
    return fault
  }
}
