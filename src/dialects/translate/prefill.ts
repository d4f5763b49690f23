/**
 * An answer that its caller has begun. In messages and generate content the last turn may be the model's, and the
 * answer continues it. A vendor of another dialect may repeat the beginning or continue it; a repeated beginning is
 * removed.
 */
import type { Choice, Conversation, Part, Piece, Reply } from '../neutral.ts'

/** The text that the answer is to continue; undefined if there is none. */
export const prefillOf = ({ turns }: Conversation): string | undefined => {
  const last = turns.at(-1)
  if (last?.role !== 'assistant' || last.parts.some(({ type }) => type === 'tool_call')) return undefined
  const text = last.parts.map((part) => (part.type === 'text' ? part.text : '')).join('')
  return text.trim() === '' ? undefined : text.trim()
}

/** The answer without its repeated beginning. */
export const withoutPrefill = (reply: Omit<Reply, 'usage'>, prefill: string): Omit<Reply, 'usage'> => ({
  ...reply,
  choices: reply.choices.map((choice): Choice => {
    const first = choice.parts.findIndex(({ type }) => type === 'text')
    const parts = choice.parts.map((part, at): Part => {
      if (part.type !== 'text' || at !== first) return part
      const text = part.text.trimStart()
      return text.startsWith(prefill) ? { ...part, text: text.slice(prefill.length) } : part
    })
    return { ...choice, parts }
  }),
})

/** The same for the steps of a stream: text waits as long as it may be the beginning. */
export const withoutPrefillSteps = (
  read: (data: string) => readonly Piece[],
  prefill: string,
): ((data: string) => readonly Piece[]) => {
  const waiting = new Map<number, string>()
  const decided = new Set<number>()
  const said = (choice: number, text: string): Piece[] => {
    decided.add(choice)
    return text === '' ? [] : [{ type: 'text', choice, text }]
  }
  const received = (choice: number, more: string): Piece[] => {
    const whole = (waiting.get(choice) ?? '') + more
    const text = whole.trimStart()
    if (text.startsWith(prefill)) return said(choice, text.slice(prefill.length))
    if (!prefill.startsWith(text)) return said(choice, whole)
    waiting.set(choice, whole)
    return []
  }
  return (data) =>
    read(data).flatMap((piece): Piece[] => {
      if (!('choice' in piece) || decided.has(piece.choice)) return [piece]
      if (piece.type === 'text') return received(piece.choice, piece.text)
      const ends = piece.type === 'finish' || piece.type === 'tool'
      return ends ? [...said(piece.choice, waiting.get(piece.choice) ?? ''), piece] : [piece]
    })
}
