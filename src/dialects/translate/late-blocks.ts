/**
 * A block of the prompt that comes when the answer has begun. It came too late to be one: the caller has words of the
 * answer, and the vendor's filters have ended it.
 */
import type { Piece } from '../neutral.ts'

type StepReader = (data: string) => readonly Piece[]

/** The same steps, with the filter's end of each answer that is open in place of such a block. */
export const withoutLateBlocks = (read: StepReader): StepReader => {
  const begun = new Set<number>()
  const ended = new Set<number>()
  const changed = (piece: Piece): readonly Piece[] => {
    if ('choice' in piece) (piece.type === 'finish' ? ended : begun).add(piece.choice)
    if (piece.type !== 'blocked' || begun.size + ended.size === 0) return [piece]
    const open = [...begun].filter((choice) => !ended.has(choice))
    return open.map((choice) => ({ type: 'finish' as const, choice, finish: 'content_filter' as const }))
  }
  return (data) => read(data).flatMap(changed)
}
