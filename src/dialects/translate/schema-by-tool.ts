/**
 * Structured output from models that have none: the schema becomes a tool that the model must call, and the arguments
 * of that call become the answer's text.
 */
import type { Choice, Conversation, Part, Piece, Reply } from '../neutral.ts'

const TOOL = 'answer_in_json'

/** The conversation with its format as a tool; if there are other tools, the model must call one of them all. */
export const withSchemaTool = (it: Conversation): Conversation => {
  if (it.format?.type !== 'schema') return it
  const { format, ...rest } = it
  const tool = {
    name: TOOL,
    description: format.description ?? 'Call this with the whole answer, once it is complete.',
    parameters: format.schema,
  }
  const forced =
    it.tools.length === 0 ? { type: 'named' as const, name: TOOL } : { type: 'required' as const }
  return { ...rest, tools: [...it.tools, tool], toolChoice: forced }
}

/** The answer with that tool's call as its text. */
export const textFromTool = (reply: Omit<Reply, 'usage'>): Omit<Reply, 'usage'> => ({
  ...reply,
  choices: reply.choices.map((choice): Choice => {
    const parts = choice.parts.map(
      (part): Part =>
        part.type === 'tool_call' && part.name === TOOL ? { type: 'text', text: part.arguments } : part,
    )
    const calls = parts.some(({ type }) => type === 'tool_call')
    return { ...choice, parts, finish: choice.finish === 'tool_calls' && !calls ? 'stop' : choice.finish }
  }),
})

/** The same for the steps of a stream. */
export const textFromToolSteps = (
  read: (data: string) => readonly Piece[],
): ((data: string) => readonly Piece[]) => {
  const answers = new Set<string>()
  const others = new Set<number>()
  const slot = (choice: number, index: number) => `${choice}/${index}`
  const changed = (piece: Piece): readonly Piece[] => {
    switch (piece.type) {
      case 'tool':
        if (piece.name !== TOOL) {
          others.add(piece.choice)
          return [piece]
        }
        answers.add(slot(piece.choice, piece.index))
        return []
      case 'arguments':
        return answers.has(slot(piece.choice, piece.index))
          ? [{ type: 'text', choice: piece.choice, text: piece.text }]
          : [piece]
      case 'finish':
        return piece.finish === 'tool_calls' && !others.has(piece.choice)
          ? [{ ...piece, finish: 'stop' }]
          : [piece]
      default:
        return [piece]
    }
  }
  return (data) => read(data).flatMap(changed)
}
