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
  const instead = (piece: Piece): readonly Piece[] =>
    piece.type === 'blocked'
      ? [...begun]
          .filter((choice) => !ended.has(choice))
          .map((choice) => ({ type: 'finish' as const, choice, finish: 'content_filter' as const }))
      : [piece]
  return (data) => {
    const steps = read(data)
    let isBlocked = false
    for (const piece of steps) {
      if (piece.type === 'blocked') isBlocked = true
      else if ('choice' in piece) (piece.type === 'finish' ? ended : begun).add(piece.choice)
    }
    return isBlocked && begun.size + ended.size > 0 ? steps.flatMap(instead) : steps
  }
}
