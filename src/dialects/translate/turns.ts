/** Arranges turns for dialects that separate the system's words and want the speakers to alternate. */
import type { Json } from '../../core/json-body.ts'
import { Refusal, writeEach } from '../../core/refusal.ts'
import type { Conversation, Part, ToolResult, Turn } from '../neutral.ts'
import { thoughtsIn } from './unsupported.ts'
import { refuseUnsupported } from './vendor-call.ts'

type Arranged = {
  /** What the system says, in order. */
  readonly system: readonly Part[]
  /** User and assistant in alternation; neighbours of one role are one turn, results of tools before anything else. */
  readonly turns: readonly Turn[]
  /** That a system message came between others and was moved to the front, and thoughts that are not the vendor's own. */
  readonly notCarried: string[]
}

export const arrange = (it: Conversation, isOwn: (part: Part) => boolean): Arranged => {
  const system: Part[] = []
  const turns: { role: 'user' | 'assistant'; parts: Part[] }[] = []
  let moved = false
  for (const turn of it.turns) {
    if (turn.role === 'system') {
      if (turns.length > 0) moved = true
      for (const part of turn.parts) system.push(part)
      continue
    }
    const last = turns.at(-1)
    // One by one: as arguments of one call, very many parts would overflow the stack.
    if (last?.role === turn.role) for (const part of turn.parts) last.parts.push(part)
    else turns.push({ role: turn.role, parts: [...turn.parts] })
  }
  const arranged = turns.map(resultsFirst).filter(({ parts }) => parts.length > 0)
  const notCarried = [...(moved ? ['system message position'] : []), ...thoughtsIn(arranged, isOwn)]
  return { system, turns: arranged, notCarried }
}

/** The same, for dialects whose system has only texts to say. */
export const arrangeTexts = (it: Conversation, isOwn: (part: Part) => boolean): Arranged | Refusal => {
  const arranged = arrange(it, isOwn)
  const other = arranged.system.find(({ type }) => type !== 'text')
  return other === undefined
    ? arranged
    : refuseUnsupported('messages', `a system message of type '${other.type}'`)
}

/** Messages with what each turn says, in dialects that take no pictures of an answer. */
export const messagesOf = (
  turns: readonly Turn[],
  blocksOf: (parts: readonly Part[]) => readonly Json[] | Refusal,
): readonly Json[] | Refusal =>
  writeEach(turns, ({ role, parts }): readonly Json[] | Refusal => {
    const content = blocksOf(role === 'user' ? parts : parts.filter(({ type }) => type !== 'image'))
    if (content instanceof Refusal) return content
    return content.length === 0 ? [] : [{ role, content }]
  })

/** What a tool may give back. */
export const resultParts = (parts: readonly Part[]): ToolResult['parts'] =>
  parts.filter((part) => part.type === 'text' || part.type === 'image' || part.type === 'document')

/** One answer of the model comes back as several items (thoughts, text, calls): those in a row become one turn. */
export const joinAnswers = (items: readonly Turn[]): readonly Turn[] => {
  const turns: Turn[] = []
  /** The parts of the last turn, if it is the assistant's. */
  let answer: Part[] | undefined
  for (const { role, parts } of items) {
    if (role === 'assistant' && answer !== undefined) for (const part of parts) answer.push(part)
    else if (parts.length > 0) {
      const own = [...parts]
      turns.push({ role, parts: own })
      answer = role === 'assistant' ? own : undefined
    }
  }
  return turns
}

const resultsFirst = (turn: { role: 'user' | 'assistant'; parts: Part[] }): Turn => {
  if (turn.role === 'assistant') return turn
  const results = turn.parts.filter((part) => part.type === 'tool_result')
  return { role: 'user', parts: [...results, ...turn.parts.filter((part) => part.type !== 'tool_result')] }
}

/** Names of tool calls by id, for dialects whose results name the tool. */
export const toolNames = (it: Conversation): ReadonlyMap<string, string> =>
  new Map(
    it.turns.flatMap(({ parts }) =>
      parts.flatMap((part): [string, string][] => (part.type === 'tool_call' ? [[part.id, part.name]] : [])),
    ),
  )
