/**
 * Puts a stream's steps into an order that every dialect can write: one tool call after another, each with all its
 * arguments before anything else is said. Vendors may interleave the arguments of several calls; most dialects cannot.
 */
import { isObject, parseJson } from '../../core/json-body.ts'
import type { Piece } from '../neutral.ts'

type ChoicePiece = Extract<Piece, { readonly choice: number }>
type OpenChoice = { current: { readonly index: number; text: string } | undefined; waiting: ChoicePiece[] }

const isWhole = (text: string): boolean => isObject(parseJson(text))

/**
 * The same steps with calls in order. Steps that must wait come out when the call before them is complete, or at the
 * finish.
 */
export const toolsInOrder = (
  read: (data: string) => readonly Piece[],
): ((data: string) => readonly Piece[]) => {
  const choices = new Map<number, OpenChoice>()
  const ordered = (piece: Piece): readonly Piece[] => {
    if (!('choice' in piece)) return [piece]
    const choice = choices.get(piece.choice) ?? { current: undefined, waiting: [] }
    choices.set(piece.choice, choice)
    return piece.type === 'finish' ? [...settled(choice, piece.choice), piece] : accept(choice, piece)
  }
  return (data) => read(data).flatMap(ordered)
}

const accept = (choice: OpenChoice, piece: ChoicePiece): readonly Piece[] => {
  const { current } = choice
  if (current !== undefined && piece.type === 'arguments' && piece.index === current.index) {
    current.text += piece.text
    return choice.waiting.length > 0 && isWhole(current.text) ? [piece, ...woken(choice)] : [piece]
  }
  if (current !== undefined && !isWhole(current.text)) {
    choice.waiting.push(piece)
    return []
  }
  choice.current = piece.type === 'tool' ? { index: piece.index, text: '' } : undefined
  return piece.type === 'arguments' ? [] : [piece]
}

const woken = (choice: OpenChoice): readonly Piece[] => {
  const { waiting } = choice
  choice.waiting = []
  return waiting.flatMap((piece) => accept(choice, piece))
}

/** Everything that waits; a call without arguments gets an empty object. */
const settled = (choice: OpenChoice, number: number): readonly Piece[] => {
  const pieces: Piece[] = []
  do {
    const { current } = choice
    if (current?.text === '')
      pieces.push({ type: 'arguments', choice: number, index: current.index, text: '{}' })
    choice.current = undefined
    pieces.push(...woken(choice))
  } while (choice.current !== undefined || choice.waiting.length > 0)
  return pieces
}
