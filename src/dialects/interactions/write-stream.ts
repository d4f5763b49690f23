/** Interactions, steps in the neutral form → events for the caller. Source of the format: npm @google/genai 3.3.0, `InteractionSSEEvent`. */
import { type JsonObject, present } from '../../core/json-body.ts'
import { costComment, keepAlive, membersSlot } from '../bill-members.ts'
import type { Citation, Finish, Part, Piece } from '../neutral.ts'
import type { Ending, StreamWriter, WriterContext } from '../stream-writer.ts'
import { GatheredSteps } from './gather-steps.ts'
import {
  annotationOf,
  calledStep,
  contentOf,
  endOf,
  interactionObject,
  keptMembers,
  thoughtStep,
} from './reply.ts'
import { usageText } from './usage.ts'

export const interactionsStreamWriter = (context: WriterContext): StreamWriter =>
  new InteractionsStreamWriter(context)

/** One event; `more` is the text of further members. */
export const eventText = (event: JsonObject, more = ''): string =>
  `event: ${String(event.event_type)}\ndata: ${JSON.stringify(event).slice(0, -1)}${more}}\n\n`

/** The last event of a stream, after what is held back until it is paid. */
export const endText = (
  interaction: JsonObject,
  reported: JsonObject['usage'],
  { usage, bill }: Ending,
): string => {
  const { usage: _usage, ...members } = interaction
  const whole = `${JSON.stringify(members).slice(0, -1)},"usage":${usageText(reported, usage, bill)}}`
  const more = `,"interaction":${whole}${membersSlot}`
  return `${costComment(bill)}${eventText({ event_type: 'interaction.completed' }, more)}event: done\ndata: [DONE]\n\n`
}

/** The events of a fault. */
export const failText = (interaction: JsonObject, { code, message }: JsonObject): string => {
  const error = { code: code ?? '', message: message ?? '' }
  const failed = { ...interaction, status: 'failed', errors: [error] }
  return (
    eventText({ event_type: 'error', error }) +
    eventText({ event_type: 'interaction.completed', interaction: failed })
  )
}

/** The text of the open output, for the places of citations. */
type OpenOutput = { text: string; readonly from: number }

class InteractionsStreamWriter implements StreamWriter {
  readonly #context: WriterContext
  readonly #gathered = new GatheredSteps()
  #model: string
  #begun = false
  #index = 0
  #open: 'thought' | 'call' | OpenOutput | undefined
  /** The open thought has its signature. */
  #signed = false
  /** The length of all text so far. */
  #length = 0
  #finish: Finish = 'stop'

  constructor(context: WriterContext) {
    this.#context = context
    this.#model = context.modelName
  }

  write(piece: Piece): string {
    // This dialect has one answer; more were not requested.
    if ('choice' in piece && piece.choice > 0) return ''
    switch (piece.type) {
      case 'start':
        this.#model = piece.model || this.#model
        return this.#begin()
      case 'text':
      case 'refusal':
      case 'summary':
        return this.#say(piece.text)
      case 'thinking':
        return (
          this.#think() +
          this.#delta({ type: 'thought_summary', content: { type: 'text', text: piece.text } })
        )
      case 'signature':
        return this.#sign(piece)
      case 'image':
        return this.#show(piece.image)
      case 'audio':
        return this.#show(piece.audio)
      case 'citation':
        return this.#cite(piece.citation)
      case 'tool':
        return this.#start('call', calledStep(piece))
      case 'arguments':
        return this.#open === 'call' ? this.#delta({ type: 'arguments_delta', arguments: piece.text }) : ''
      case 'finish':
        this.#finish = piece.finish
        return ''
      case 'ping':
        return keepAlive
      default:
        return ''
    }
  }

  end(ending: Ending): string {
    if (ending.cut) this.#finish = 'length'
    const before = this.#begin() + this.#stop()
    const whole = { ...this.#interaction(''), ...endOf(this.#finish), ...keptMembers(ending.kept) }
    return before + endText(whole, undefined, ending)
  }

  fail(error: JsonObject): string {
    return this.#begin() + failText(this.#interaction('failed'), error)
  }

  #interaction(status: string): JsonObject {
    return interactionObject(this.#context, { model: this.#model, status }, this.#gathered.steps)
  }

  #event(event: JsonObject): string {
    this.#gathered.take(event)
    return eventText(event)
  }

  #begin(): string {
    if (this.#begun) return ''
    this.#begun = true
    const { steps: _steps, ...interaction } = this.#interaction('in_progress')
    return (
      this.#event({ event_type: 'interaction.created', interaction }) +
      this.#event({
        event_type: 'interaction.status_update',
        interaction_id: interaction.id ?? null,
        status: 'in_progress',
      })
    )
  }

  /** Begins a step once the one before is complete. */
  #start(open: 'thought' | 'call' | OpenOutput, step: JsonObject): string {
    const before = this.#begin() + this.#stop()
    this.#open = open
    this.#signed = false
    return before + this.#event({ event_type: 'step.start', index: this.#index, step })
  }

  #stop(): string {
    if (this.#open === undefined) return ''
    this.#open = undefined
    return this.#event({ event_type: 'step.stop', index: this.#index++ })
  }

  #delta(delta: JsonObject): string {
    return this.#event({ event_type: 'step.delta', index: this.#index, delta })
  }

  /** The open output, and the event that begins it if another step was open. */
  #output(): { readonly open: OpenOutput; readonly start: string } {
    if (typeof this.#open === 'object') return { open: this.#open, start: '' }
    const open = { text: '', from: this.#length }
    return { open, start: this.#start(open, { type: 'model_output' }) }
  }

  #say(text: string): string {
    const { open, start } = this.#output()
    open.text += text
    this.#length += text.length
    return start + this.#delta({ type: 'text', text })
  }

  /** What comes whole; places of citations count anew in the text after it. */
  #show(part: Part): string {
    const { start } = this.#output()
    this.#open = { text: '', from: this.#length }
    return start + this.#delta(contentOf(part) ?? {})
  }

  #cite(citation: Citation): string {
    const { open, start } = this.#output()
    const place = (at: number) => Math.min(Math.max(at - open.from, 0), open.text.length)
    const own = { ...citation, from: place(citation.from), to: place(citation.to) }
    return start + this.#delta({ type: 'text_annotation_delta', annotations: [annotationOf(own, open.text)] })
  }

  /** A signed thought is complete, so another begins. */
  #think(): string {
    return this.#open === 'thought' && !this.#signed ? '' : this.#start('thought', { type: 'thought' })
  }

  #sign({ signature, redacted }: Piece & { type: 'signature' }): string {
    const start = redacted === true ? this.#start('thought', { type: 'thought' }) : this.#think()
    this.#signed = true
    const thought = present({ type: 'thinking' as const, text: '', signature, redacted })
    return start + this.#delta({ type: 'thought_signature', signature: thoughtStep(thought).signature ?? '' })
  }
}
