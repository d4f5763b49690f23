/**
 * Answers for callers whose dialect has room for one tool call: they get the first call, and the names of what was not
 * carried say that there were others.
 */
import type { Choice, Piece, Reply } from '../neutral.ts'

const OTHER_CALLS = 'tool_calls'

/** The answer with only the first call of each choice. */
export const withOneCall = (reply: Omit<Reply, 'usage'>): Omit<Reply, 'usage'> => {
  const choices = reply.choices.map((choice): Choice => {
    const first = choice.parts.findIndex(({ type }) => type === 'tool_call')
    return { ...choice, parts: choice.parts.filter(({ type }, at) => type !== 'tool_call' || at === first) }
  })
  const fewer = choices.some(({ parts }, at) => parts.length < (reply.choices[at]?.parts.length ?? 0))
  return fewer
    ? { ...reply, choices, notCarried: [...(reply.notCarried ?? []), OTHER_CALLS] }
    : { ...reply, choices }
}

/** The same for the steps of a stream. */
export const oneCallSteps =
  (read: (data: string) => readonly Piece[]): ((data: string) => readonly Piece[]) =>
  (data) =>
    read(data).flatMap((piece): Piece[] => {
      if ((piece.type !== 'tool' && piece.type !== 'arguments') || piece.index === 0) return [piece]
      return piece.type === 'tool' ? [{ type: 'not_carried', name: OTHER_CALLS }] : []
    })
