/** Interactions, a vendor's events → steps in the neutral form. Source of the format: npm @google/genai 3.3.0, `InteractionSSEEvent`. */
import { withDigits } from '../../core/exact-json.ts'
import { isObject, type JsonObject, parseJson } from '../../core/json-body.ts'
import type { Part, Piece } from '../neutral.ts'
import { stepsOf } from '../reply-steps.ts'
import { objectOf, objectsOf, textOf } from '../request/json-members.ts'
import { GatheredSteps } from './gather-steps.ts'
import { citedIn, finishOf, isBlockedPrompt, isInteraction, readContent, readStep } from './read-reply.ts'
import { readInteractionsUsage } from './usage.ts'

const BROKEN: Piece = { type: 'error', error: { message: 'the arguments of a call are not a JSON object' } }

/**
 * Makes a reader for one stream. Texts and media are told as they come; the rest of a step (a call, a signature, sources)
 * when it is complete.
 */
export const interactionsStreamReader = (newId: () => string): ((data: string) => readonly Piece[]) => {
  const gathered = new GatheredSteps()
  let started = false
  let calls = 0
  /** The length of all text of the steps before. */
  let before = 0

  const named = ({ id, model }: JsonObject): readonly Piece[] => {
    if (started) return []
    started = true
    return [{ type: 'start', id: textOf(id) ?? '', model: textOf(model) ?? '' }]
  }
  const grown = (delta: JsonObject): readonly Piece[] => {
    const isThought = delta.type === 'thought_summary'
    return readContent(isThought ? objectOf(delta.content) : delta).flatMap((part): readonly Piece[] => {
      if (part.type === 'image') return [{ type: 'image', choice: 0, image: part }]
      if (part.type === 'audio') return [{ type: 'audio', choice: 0, audio: part }]
      return part.type === 'text'
        ? [{ type: isThought ? 'thinking' : 'text', choice: 0, text: part.text }]
        : []
    })
  }
  /** What is left to say of a step once it is complete. */
  const completed = (step: JsonObject): readonly Piece[] => {
    const { parts, notCarried } = readStep(step, newId)
    const cited = citedIn([step], before)
    before = cited.length
    const untold = parts.flatMap((part): readonly Part[] => {
      if (part.type === 'thinking') return [{ ...part, text: '' }]
      return part.type === 'tool_call' ? [part] : []
    })
    const choice = { parts: untold, finish: 'stop' as const, citations: cited.citations }
    return [
      ...stepsOf({ id: '', model: '', choices: [choice], notCarried }).flatMap((piece): readonly Piece[] => {
        if (piece.type === 'start' || piece.type === 'finish') return []
        if (piece.type === 'tool') calls++
        return [piece.type === 'tool' || piece.type === 'arguments' ? { ...piece, index: calls - 1 } : piece]
      }),
      ...(cited.notCarried ? [{ type: 'not_carried' as const, name: 'citations' }] : []),
    ]
  }
  const ended = (interaction: JsonObject): readonly Piece[] => {
    if (isBlockedPrompt(interaction)) return [{ type: 'blocked' }]
    if (!isInteraction(interaction)) {
      const said = `the interaction ended as '${textOf(interaction.status)}'`
      return [{ type: 'error', error: objectsOf(interaction.errors)[0] ?? { message: said } }]
    }
    const usage = readInteractionsUsage(objectOf(interaction.usage), gathered.steps)
    return [
      ...(usage === undefined ? [] : [{ type: 'usage' as const, usage }]),
      { type: 'finish', choice: 0, finish: finishOf(interaction, calls > 0) },
      { type: 'end' },
    ]
  }

  return (data) => {
    const read = data === '' || data === '[DONE]' ? undefined : parseJson(data)
    if (!isObject(read)) return []
    const event = withDigits(data, read)
    const complete = gathered.take(event)
    const interaction = objectOf(event.interaction)
    switch (event.event_type) {
      case 'step.start': {
        const { content, summary } = objectOf(event.step)
        const thoughts = objectsOf(summary).map((one) => ({ type: 'thought_summary', content: one }))
        return [...objectsOf(content), ...thoughts].flatMap(grown)
      }
      case 'step.delta':
        return grown(objectOf(event.delta))
      case 'step.stop':
        return complete === undefined ? [BROKEN] : completed(complete)
      case 'interaction.created':
        return named(interaction)
      case 'interaction.completed':
        return [...named(interaction), ...ended(interaction)]
      case 'error':
        return [{ type: 'error', error: objectOf(event.error) }]
      default:
        return []
    }
  }
}
