/** Transcription as OpenAI shaped it and others copied it. Source: OpenAI API reference, "Create transcription", "Create translation". */

import { z } from 'zod'
import { isObject, present } from '../../core/json-body.ts'
import {
  countAt,
  listAt,
  member,
  msOf,
  numberAt,
  objectOf,
  spokenIn,
  textAt,
} from '../../media/read-answer.ts'
import type { FormPart, Inputs, OnceShape, VendorAnswer, Verdict } from '../../media/shape.ts'
import { bytesAt, fileNameFor, soundInput } from '../../media/sound-input.ts'

const common = {
  file: soundInput,
  language: z.string().max(20).optional(),
  prompt: z.string().max(4_000).optional(),
  temperature: z.number().min(0).max(1).default(0),
}

/** For models that give no times. */
export const plainInputs = z.strictObject(common)

/** For whisper, which also gives times and translates to English. */
export const whisperInputs = z.strictObject({
  ...common,
  task: z.enum(['transcribe', 'translate']).default('transcribe'),
  timestamps: z.enum(['segment', 'word']).default('segment'),
})

const field = (name: string, text: string): FormPart => ({ name, text })

const ask = (inputs: Inputs, model: string): ReturnType<OnceShape['ask']> => {
  const { file, language, prompt, temperature, task, timestamps } = inputs
  const sound = bytesAt(String(file))
  const translates = task === 'translate'
  const form: FormPart[] = [
    field('model', model),
    { name: 'file', file: sound, filename: fileNameFor(sound.mediaType) },
    field('response_format', timestamps === undefined ? 'json' : 'verbose_json'),
    field('temperature', String(temperature)),
  ]
  if (typeof prompt === 'string') form.push(field('prompt', prompt))
  // Translations take neither: they are always to English, and have only segments.
  if (typeof language === 'string' && !translates) form.push(field('language', language))
  if (timestamps !== undefined && !translates) {
    form.push(field('timestamp_granularities[]', 'segment'))
    if (timestamps === 'word') form.push(field('timestamp_granularities[]', 'word'))
  }
  return {
    method: 'POST',
    path: translates ? '/audio/translations' : '/audio/transcriptions',
    body: { form },
  }
}

/** Tokens or seconds, whichever the model is billed by; at least the billed minimum. */
const measuredOf = (answer: VendorAnswer, leastMs: number) => {
  const usage = member(objectOf(answer), 'usage')
  const seconds = numberAt(usage, 'seconds') ?? numberAt(objectOf(answer), 'duration')
  if (textAt(usage, 'type') !== 'tokens')
    return seconds === undefined ? undefined : { audio_ms: Math.max(leastMs, msOf(seconds)) }
  const details = member(usage, 'input_token_details')
  const [input, output] = [countAt(usage, 'input_tokens'), countAt(usage, 'output_tokens')]
  if (input === undefined || output === undefined) return undefined
  const text = Math.min(input, countAt(details, 'text_tokens') ?? 0)
  return { input: text, input_audio: input - text, output }
}

const read =
  (leastMs: number) =>
  (answer: VendorAnswer): Verdict | undefined => {
    const body = objectOf(answer)
    const text = textAt(body, 'text')
    if (body === undefined || text === undefined) return undefined
    const [language, seconds] = [textAt(body, 'language'), numberAt(body, 'duration')]
    const [segments, words] = [listAt(body, 'segments'), listAt(body, 'words')]
    const told = segments?.filter(isObject).map((one, id) => ({ id, ...one }))
    const measured = measuredOf(answer, leastMs)
    return {
      verdict: 'done',
      outputs: [{ type: 'text', text }],
      body,
      ...(measured === undefined ? {} : { measured }),
      transcript: {
        text,
        ...present({ language, seconds, told }),
        segments: spokenIn(segments, 'text'),
        ...(words === undefined ? {} : { words: spokenIn(words, 'word') }),
      },
    }
  }

/** `leastMs`: the least that a sound is billed as. */
export const transcription = (leastMs = 0): OnceShape => ({ flow: 'once', ask, read: read(leastMs) })

/** A fifth of a second of silence, which the examples send. */
export const EXAMPLE_SOUND = `data:audio/wav;base64,${Buffer.from(
  Uint8Array.from([
    ...Buffer.from('RIFF'),
    ...[100, 6, 0, 0],
    ...Buffer.from('WAVEfmt '),
    ...[16, 0, 0, 0, 1, 0, 1, 0, 64, 31, 0, 0, 64, 31, 0, 0, 1, 0, 8, 0],
    ...Buffer.from('data'),
    ...[64, 6, 0, 0],
    ...new Array<number>(1_600).fill(128),
  ]),
).toString('base64')}`
