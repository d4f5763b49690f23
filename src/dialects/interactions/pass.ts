/**
 * Interactions to callers of the same dialect: bytes pass through, the meter reads along, and the event that ends the
 * stream is held back until the call is paid. The vendor stores nothing, and names nothing that it does not store, so
 * the interaction has our name. Source of the format: npm @google/genai 3.3.0, `Interaction`, `InteractionSSEEvent`.
 */
import type { Call } from '../../core/call.ts'
import {
  isObject,
  type JsonBody,
  type JsonObject,
  parseJson,
  readJsonBody,
  splice,
} from '../../core/json-body.ts'
import { must } from '../../core/refusal.ts'
import { lettersIn } from '../../metering/dense-scripts.ts'
import { type Billed, noBalance } from '../bill-members.ts'
import { newProgress, type StreamRelay } from '../relay.ts'
import { objectOf, objectsOf, textOf } from '../request/json-members.ts'
import type { WriterContext } from '../stream-writer.ts'
import type { Target } from '../translate/vendor-call.ts'
import { GatheredSteps } from './gather-steps.ts'
import { interactionIdOf } from './names.ts'
import { isBlockedPrompt, isInteraction } from './read-reply.ts'
import { interactionObject, keptMembers } from './reply.ts'
import { readInteractionsUsage, usageText } from './usage.ts'
import { endText, eventText, failText } from './write-stream.ts'

const encoder = new TextEncoder()

/** The body to send. */
export const passInteractionsCall = ({ body }: Call, { model, outputBound }: Target): Uint8Array => {
  const config = { ...objectOf(body.outline.generation_config), max_output_tokens: outputBound }
  const tier = model.cheaper?.tier
  return splice(body, {
    model: JSON.stringify(model.upstreamName),
    store: 'false',
    background: undefined,
    previous_interaction_id: undefined,
    service_tier: tier === undefined ? undefined : `"${tier}"`,
    ...(outputBound === undefined ? {} : { generation_config: JSON.stringify(config) }),
  })
}

/** The vendor's answer under our name; one that stopped at the vendor's own bound is not continued there. */
export const namedHere = (reply: JsonBody, requestId: string): JsonBody => {
  const continues = reply.value.status === 'requires_continuation'
  const edits = { id: JSON.stringify(interactionIdOf(requestId)), continuation_token: undefined }
  return must(readJsonBody(splice(reply, { ...edits, ...(continues ? { status: '"incomplete"' } : {}) })))
}

/** The answer with the cost in its usage. */
export const addInteractionsBill = (reply: JsonBody, { usage, bill, kept }: Billed): Uint8Array => {
  const named = Object.entries(keptMembers(kept)).map(([name, value]) => [name, JSON.stringify(value)])
  return splice(reply, {
    usage: usageText(reply.value.usage, usage, bill),
    ...Object.fromEntries(named),
    ...noBalance,
  })
}

const textIn = ({ type, text, content, arguments: args }: JsonObject): string =>
  (type === 'thought_summary' ? textOf(objectOf(content).text) : (textOf(text) ?? textOf(args))) ?? ''

export const interactionsRelay = (context: () => WriterContext): StreamRelay => {
  const progress = newProgress()
  const gathered = new GatheredSteps()
  const id = interactionIdOf(context().requestId)
  let head: JsonObject = {}
  let last: JsonObject | undefined
  const count = (text: string, isMedia: boolean) => {
    progress.begun = true
    if (text === '' && !isMedia) return
    progress.letters += lettersIn(text)
    progress.contentEvents++
  }
  const note = (event: JsonObject): void => {
    const step = objectOf(event.step)
    const delta = objectOf(event.delta)
    if (step.type === 'thought') progress.thought = true
    if (event.event_type === 'step.start') count(textOf(step.name) ?? '', false)
    if (event.event_type === 'step.delta')
      count(textIn(delta), delta.type === 'image' || delta.type === 'audio')
  }
  /** The event under our name; undefined if it waits for the end. */
  const passed = (event: JsonObject): JsonObject | undefined => {
    switch (event.event_type) {
      case 'interaction.created':
        head = { ...objectOf(event.interaction), id }
        return { ...event, interaction: head }
      case 'interaction.status_update':
        return { ...event, interaction_id: id }
      case 'interaction.completed': {
        const interaction = objectOf(event.interaction)
        progress.blocked = !progress.begun && isBlockedPrompt(interaction)
        progress.begun = true
        progress.finished = isInteraction(interaction)
        progress.done = progress.finished
        if (!progress.finished && !progress.blocked)
          progress.error = objectsOf(interaction.errors)[0] ?? { message: 'the interaction failed' }
        last = interaction
        return undefined
      }
      case 'error':
        progress.error = objectOf(event.error)
        return undefined
      default:
        gathered.take(event)
        note(event)
        return event
    }
  }
  const whole = (more: JsonObject): JsonObject => {
    const { continuation_token: _token, ...known } = { ...head, ...last }
    const own = interactionObject(context(), { model: context().modelName, status: 'incomplete' }, [])
    const continues = known.status === 'requires_continuation' || last === undefined
    return {
      ...own,
      ...known,
      ...(continues ? { status: 'incomplete' } : {}),
      ...noBalance,
      id,
      steps: gathered.steps,
      ...more,
    }
  }
  return {
    progress,
    follow: ({ bytes, data }) => {
      const event = data === '' ? undefined : parseJson(data)
      if (!isObject(event)) return data === '' ? bytes : undefined
      const shown = passed(event)
      if (shown === undefined) return undefined
      return shown === event ? bytes : encoder.encode(eventText(shown))
    },
    // A blocked prompt is free, whatever the vendor counted.
    usage: () => (progress.blocked ? {} : readInteractionsUsage(objectOf(last?.usage), gathered.steps)),
    end: (ending) => endText(whole(keptMembers(ending.kept)), last?.usage, ending),
    fail: (error) => failText(whole({}), error),
  }
}
