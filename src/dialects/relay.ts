/**
 * A stream on its way from a vendor to the caller: what passes, what is held back until the end, and what the meter
 * reads.
 */
import type { JsonObject } from '../core/json-body.ts'
import type { Usage } from '../core/usage.ts'
import type { Ending } from './stream-writer.ts'

/** One event of the vendor: its bytes with the blank line that ends it, and the text of its `data` lines. */
export type VendorEvent = { readonly bytes: Uint8Array; readonly data: string }

export type Progress = {
  /** Something was said, so from now on no other vendor can be asked. */
  begun: boolean
  /** Events with content (each has at least one token), and the letters of that content, as `lettersIn` counts them. */
  contentEvents: number
  letters: number
  /**
   * The part of both that was read but waits in a writer, such as a call that is written whole. The caller has not got
   * it yet.
   */
  unsaid: { readonly events: number; readonly letters: number }
  /** The model is thinking; its thoughts may be billed without being shown. */
  thought: boolean
  /** The choices that have begun, and those of which the vendor said how they ended. */
  choices: readonly number[]
  ended: readonly number[]
  /** The vendor said how its answer ended, with all its choices, and that the stream is over. */
  finished: boolean
  done: boolean
  /** The vendor's error inside the stream. */
  error: JsonObject | undefined
  /** The prompt was blocked and there is no answer. */
  blocked: boolean
}

const NONE: readonly number[] = []

/** Takes note that something came of a choice, or its end. */
export const noteChoice = (progress: Progress, choice: number, ends: boolean): void => {
  if (!progress.choices.includes(choice)) progress.choices = [...progress.choices, choice]
  if (ends && !progress.ended.includes(choice)) progress.ended = [...progress.ended, choice]
  progress.finished = progress.ended.length === progress.choices.length
}

/** The choices that have begun and not ended; the first before any has begun. */
export const openChoices = ({ choices, ended }: Progress): readonly number[] =>
  choices.length === 0 ? [0] : choices.filter((choice) => !ended.includes(choice))

export const newProgress = (): Progress => ({
  begun: false,
  contentEvents: 0,
  letters: 0,
  unsaid: { events: 0, letters: 0 },
  thought: false,
  choices: NONE,
  ended: NONE,
  finished: false,
  done: false,
  error: undefined,
  blocked: false,
})

export type StreamRelay = {
  readonly progress: Progress
  /** Takes one event and returns what goes to the caller: the event's own bytes, other bytes, or nothing. */
  follow(event: VendorEvent): Uint8Array | undefined
  /**
   * A shortcut. Takes an event that begins at `start` and passes unchanged, without reading its data. Returns its end,
   * or -1 for one that `follow` must read. Without it, `follow` reads every event.
   */
  readonly skip?: (bytes: Uint8Array, start: number) => number
  /** The usage that the vendor has reported so far. */
  usage(): Usage | undefined
  /** The tier in which the vendor says it serves the call; only for models that are requested in a cheaper one. */
  readonly tier?: () => string | undefined
  /** What ends the stream, with slots for what is only known once it is paid. */
  end(ending: Ending): string
  /** The event of an error; `error` is the error object of the specification. */
  fail(error: JsonObject): string
}
