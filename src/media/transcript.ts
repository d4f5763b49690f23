/**
 * A transcript with its times, and the forms in which callers want it. Sources: W3C WebVTT; OpenAI API reference,
 * "Create transcription".
 */
import type { JsonObject } from '../core/json-body.ts'

/** Seconds from the sound's start. */
export type TimedText = { readonly start: number; readonly end: number; readonly text: string }

export type Transcript = {
  readonly text: string
  readonly language?: string
  readonly seconds?: number
  /** Empty if the vendor gives no times. */
  readonly segments: readonly TimedText[]
  /** The same as a vendor of OpenAI's shape tells them, with how sure the model is of each. */
  readonly told?: readonly JsonObject[]
  readonly words?: readonly TimedText[]
}

/** The forms of a transcript. */
export const transcriptStyles = ['json', 'text', 'srt', 'vtt', 'verbose_json'] as const

export type TranscriptStyle = (typeof transcriptStyles)[number]

/** Whether a form needs times. */
export const needsTimes = (style: TranscriptStyle): boolean => style !== 'json' && style !== 'text'

const WORDS_MAX = 14

/** Groups words into segments: one ends with a sentence, a pause of a second, or after a number of words. */
export const segmentsOf = (words: readonly TimedText[]): readonly TimedText[] => {
  const segments: TimedText[] = []
  let begun: TimedText[] = []
  const end = () => {
    const [first, last] = [begun[0], begun.at(-1)]
    if (first !== undefined && last !== undefined)
      segments.push({ start: first.start, end: last.end, text: begun.map(({ text }) => text).join(' ') })
    begun = []
  }
  for (const word of words) {
    const before = begun.at(-1)
    if (before !== undefined && word.start - before.end > 1) end()
    begun.push(word)
    if (/[.!?。！？]$/.test(word.text) || begun.length === WORDS_MAX) end()
  }
  end()
  return segments
}

const two = (count: number): string => String(count).padStart(2, '0')

/** `00:00:01,500`; WebVTT uses a point instead of the comma. */
const timeOf = (seconds: number, point: ',' | '.'): string => {
  const ms = Math.max(0, Math.round(seconds * 1000))
  const [s, m, h] = [Math.floor(ms / 1000), Math.floor(ms / 60_000), Math.floor(ms / 3_600_000)]
  return `${two(h)}:${two(m % 60)}:${two(s % 60)}${point}${String(ms % 1000).padStart(3, '0')}`
}

/** One line per cue: an empty line would end it, and an arrow would be read as times. */
const lineOf = ({ text }: TimedText): string =>
  text
    .trim()
    .replace(/\s*\n\s*/g, ' ')
    .replaceAll('-->', '->')

const cues = (segments: readonly TimedText[], point: ',' | '.', numbered: boolean): string =>
  segments
    .map(
      (one, index) =>
        `${numbered ? `${index + 1}\n` : ''}${timeOf(one.start, point)} --> ${timeOf(one.end, point)}\n${lineOf(one)}\n\n`,
    )
    .join('')

/** The transcript as text of a media type. */
export const writtenAs = (
  { text, segments }: Transcript,
  style: 'text' | 'srt' | 'vtt',
): { readonly text: string; readonly mediaType: string } => {
  if (style === 'text') return { text: `${text}\n`, mediaType: 'text/plain; charset=utf-8' }
  return style === 'srt'
    ? { text: cues(segments, ',', true), mediaType: 'text/plain; charset=utf-8' }
    : { text: `WEBVTT\n\n${cues(segments, '.', false)}`, mediaType: 'text/vtt; charset=utf-8' }
}

/** OpenAI's `verbose_json`. */
export const verboseOf = ({ text, language, seconds, segments, told, words }: Transcript): JsonObject => ({
  ...(language === undefined ? {} : { language }),
  duration: seconds ?? segments.at(-1)?.end ?? 0,
  text,
  segments: told ?? segments.map(({ start, end, text: said }, id) => ({ id, start, end, text: said })),
  ...(words === undefined
    ? {}
    : { words: words.map(({ start, end, text: word }) => ({ word, start, end })) }),
})
