/** The answers of the scripted vendors: the request alone decides them, and they are the same in every dialect. */
import type { JsonObject } from '../../../src/core/json-body.ts'

/** What a vendor understood of a request. */
export type UnderstoodRequest = {
  readonly model: string
  readonly stream: boolean
  /** The user's last text. */
  readonly prompt: string
  /** Rounds of tool results since then, each with its texts. */
  readonly rounds: readonly (readonly string[])[]
  /** Decoded sizes of the pictures since then. */
  readonly imageBytes: readonly number[]
  readonly tools: readonly string[]
  /** The one tool that must be called. */
  readonly forced: string | undefined
  readonly schema: unknown
  readonly thinks: boolean
}

type ToolUse = { readonly name: string; readonly args: JsonObject }

export type ScriptedReply = {
  readonly thinking?: string
  readonly text?: string
  readonly calls: readonly ToolUse[]
  /** How the answer breaks off, after its text; a stalled one sends nothing more until the caller hangs up. */
  readonly breaks?: 'error' | 'die' | 'stall'
  /** The vendor's counts; by default the same for every answer. */
  readonly counts?: Counts
}

/** Tokens as a vendor counts them: those read from a cache or written to one are separate from the other input. */
export type Counts = {
  readonly input: number
  readonly output: number
  readonly cacheRead: number
  readonly cacheWrite: number
}

export type Script = (heard: UnderstoodRequest) => ScriptedReply | 400 | 429 | 500

export const weather: ToolUse = { name: 'get_weather', args: { city: 'Zürich "Altstadt"', days: 2 } }
export const time: ToolUse = { name: 'get_time', args: { zone: 'Europe/Zurich' } }
export const person: JsonObject = { name: 'Ada', age: 36 }
export const thought = 'Let me weigh it — 慎重に.'
export const counts = { input: 11, output: 7 }
export const countsOf = (said: ScriptedReply): Counts =>
  said.counts ?? { ...counts, cacheRead: 0, cacheWrite: 0 }

/** The vendor's answer; a number is an error status. */
const answerTo: Script = (heard) => {
  const { prompt, rounds } = heard
  const failure = /FAIL (400|429|500)/.exec(prompt)?.[1]
  if (failure !== undefined) return Number(failure) as 400 | 429 | 500
  if (/\bBREAK\b/.test(prompt)) return { text: 'This sentence will not', calls: [], breaks: 'error' }
  if (/\bDIE\b/.test(prompt)) return { text: 'This sentence will not', calls: [], breaks: 'die' }
  const thinking = heard.thinks ? { thinking: thought } : {}
  if (heard.schema !== undefined) return { ...thinking, text: JSON.stringify(person), calls: [] }
  if (heard.forced !== undefined && !/^get_/.test(heard.forced))
    return { calls: [{ name: heard.forced, args: person }] }
  if (heard.tools.includes('get_weather')) {
    const steps = prompt.includes('step by step') ? [[weather], [time]] : [[weather, time]]
    const calls = steps[rounds.length]
    if (calls !== undefined) return { ...thinking, ...preface(rounds.length), calls }
    return { ...thinking, text: `The tools say: ${rounds.flat().join(' | ')}`, calls: [] }
  }
  const seen = heard.imageBytes.map((bytes) => ` I see a picture of ${bytes} bytes.`).join('')
  return { ...thinking, text: `You said: ${prompt} Grüße, 世界 🌍.${seen}`, calls: [] }
}

/** Models like to write something before their first call. */
const preface = (round: number) => (round === 0 ? { text: 'I will look.' } : {})

/** The reason for a refusal, in words; each vendor puts it into its own error. */
export class VendorRefuses extends Error {}

export const need: (fits: boolean, why: string) => asserts fits = (fits, why) => {
  if (!fits) throw new VendorRefuses(why)
}

/** What a vendor remembers of the requests it took, for the tests. */
export type Memory = {
  readonly answer: Script
  /** For each signature that came back: the vendor's own, or the word for none. */
  readonly signatures: ('own' | 'skipped')[]
  /** How often the vendor was asked to think. */
  thinking: number
  /** Reasoning that came back as text. */
  readonly reasoning: string[]
  readonly refused: string[]
  /** The last request as it came. */
  request: string
}

/** `answer` decides the answer to a request that was taken. */
export const newMemory = (answer: Script = answerTo): Memory => ({
  answer,
  signatures: [],
  thinking: 0,
  reasoning: [],
  refused: [],
  request: '',
})

/** Text in pieces of a few characters. */
export const piecesOf = (text: string, size = 5): string[] => {
  const letters = [...text]
  const pieces: string[] = []
  for (let at = 0; at < letters.length; at += size) pieces.push(letters.slice(at, at + size).join(''))
  return pieces
}

const SIZES = [1, 7, 3, 19, 2, 64, 5, 31]

/** A stream whose bytes are cut where no event and no character ends, and what comes after them. */
export const cutOddly = (text: string, then: 'close' | 'die' | 'stall' = 'close'): Response => {
  const bytes = new TextEncoder().encode(text)
  let at = 0
  let turn = 0
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => {
      if (at < bytes.length) {
        const end = at + (SIZES[turn++ % SIZES.length] ?? 1)
        controller.enqueue(bytes.slice(at, end))
        at = end
      } else if (then === 'close') controller.close()
      else if (then === 'die') controller.error(new Error('connection reset'))
      else return new Promise(() => undefined)
      return undefined
    },
  })
  return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
}

export const sizeOf = (base64: string): number => Buffer.from(base64, 'base64').length

let answers = 0
/** A name that no answer and no call had before: clients take two of one name for the same. */
export const newName = (prefix: string): string => `${prefix}${(++answers).toString(36).padStart(6, '0')}`
