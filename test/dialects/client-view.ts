/** What a client of any dialect makes of an answer, and what strict clients share. */
import { parseJson } from '../../src/core/json-body.ts'
import { eventSplitter } from '../../src/transport/event-stream.ts'

export type ClientView = {
  text: string
  thinking: string
  refusal: string
  readonly tools: { readonly id: string; readonly name: string; readonly args: unknown }[]
  readonly images: string[]
  /** Sound, in base64. */
  sound: string
  /** The source, and the text that cites it. */
  readonly cited: { readonly url: string; readonly title: string; readonly said: string }[]
  finish: string | undefined
  usage: any
  error: any
  /** The client saw the vendor's end of the stream. */
  ended: boolean
  /** What the client puts into its next request. */
  readonly turn: any[]
}

export const nothing = (): ClientView => ({
  text: '',
  thinking: '',
  refusal: '',
  tools: [],
  images: [],
  sound: '',
  cited: [],
  finish: undefined,
  usage: undefined,
  error: undefined,
  ended: false,
  turn: [],
})

export const must = (condition: unknown, what: string): void => {
  if (!condition) throw new Error(`a client would not understand: ${what}`)
}

export const argsOf = (text: string): unknown => {
  const value = parseJson(text)
  must(typeof value === 'object' && value !== null, `arguments ${text}`)
  return value
}

/** Events of a stream: their name and data. */
export const eventsIn = (bytes: Uint8Array): { name: string | undefined; data: string }[] => {
  const splitter = eventSplitter()
  const decoder = new TextDecoder()
  const events = splitter.feed(bytes)
  must(splitter.remainder() === undefined, 'an unfinished event')
  return events
    .filter(({ data }) => data !== '')
    .map(({ bytes: own, data }) => ({ name: /^event: (.*)$/m.exec(decoder.decode(own))?.[1], data }))
}
