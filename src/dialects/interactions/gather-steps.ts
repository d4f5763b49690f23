/**
 * Interactions, the steps of a stream, gathered from its events: later requests go on from them. Source of the format:
 * npm @google/genai 3.3.0, `StepStart`, `StepDelta`, `StepStop`.
 */
import { parseExact } from '../../core/exact-json.ts'
import { isObject, type JsonObject } from '../../core/json-body.ts'
import { objectOf, objectsOf, textOf } from '../request/json-members.ts'
import { contentTypes } from './request.ts'

/** A step while it grows; texts are kept in pieces, so that a long one costs no more than its length. */
type Growing = { step: JsonObject; readonly contents: JsonObject[]; text: string[]; readonly args: string[] }

export class GatheredSteps {
  /** The steps that are complete. */
  readonly steps: JsonObject[] = []
  #open: Growing | undefined

  /** Takes an event; returns the step that it completes. */
  take(event: JsonObject): JsonObject | undefined {
    if (event.event_type === 'step.start') {
      const { content, summary, ...step } = objectOf(event.step)
      this.#open = { step, contents: [...objectsOf(content), ...objectsOf(summary)], text: [], args: [] }
    }
    if (this.#open === undefined) return undefined
    if (event.event_type === 'step.delta') grow(this.#open, objectOf(event.delta))
    if (event.event_type !== 'step.stop') return undefined
    const complete = closed(this.#open)
    this.#open = undefined
    if (complete !== undefined) this.steps.push(complete)
    return complete
  }
}

const grow = (open: Growing, delta: JsonObject): void => {
  const content = delta.type === 'thought_summary' ? objectOf(delta.content) : delta
  if (content.type === 'text') open.text.push(textOf(content.text) ?? '')
  else if (contentTypes.has(content.type)) {
    joinText(open)
    open.contents.push(content)
  } else if (delta.type === 'text_annotation_delta') {
    joinText(open)
    const last = open.contents.pop() ?? { type: 'text', text: '' }
    const annotations = [...objectsOf(last.annotations), ...objectsOf(delta.annotations)]
    open.contents.push({ ...last, annotations })
  } else if (delta.type === 'arguments_delta') open.args.push(textOf(delta.arguments) ?? '')
  else {
    // Thoughts are signed, and calls of the vendor's own tools come whole.
    const { type: _type, ...members } = delta
    open.step = { ...open.step, ...members }
  }
}

/** Puts the text that has come at the end of the contents. */
const joinText = (open: Growing): void => {
  if (open.text.length === 0) return
  const last = open.contents.at(-1)?.type === 'text' ? open.contents.pop() : undefined
  const text = (textOf(last?.text) ?? '') + open.text.join('')
  open.text = []
  open.contents.push({ type: 'text', ...last, text })
}

/** The whole step; a call without its end is none. */
const closed = (open: Growing): JsonObject | undefined => {
  joinText(open)
  const said = open.args.join('')
  const args = said === '' ? undefined : parseExact(said)
  if (said !== '' && !isObject(args)) return undefined
  const { step, contents } = open
  return {
    ...step,
    ...(contents.length === 0 ? {} : { [step.type === 'thought' ? 'summary' : 'content']: contents }),
    ...(args === undefined ? {} : { arguments: args }),
  }
}
