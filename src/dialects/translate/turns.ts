/** Arranges turns for dialects that separate the system's words and want the speakers to alternate. */
import type { Conversation, Part, Turn } from '../neutral.ts'

type Arranged = {
  /** What the system says, in order. */
  readonly system: readonly Part[]
  /** User and assistant in alternation; neighbours of one role are one turn, results of tools before anything else. */
  readonly turns: readonly Turn[]
  /** A system message that came between others was moved to the front. */
  readonly moved: boolean
}

export const arrange = (it: Conversation): Arranged => {
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
  return { system, turns: turns.map(resultsFirst).filter(({ parts }) => parts.length > 0), moved }
}

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
