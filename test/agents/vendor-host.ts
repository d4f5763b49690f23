/**
 * The strict scripted vendors on a port, each at the address that its clients know. They cache prompts and remember all
 * requests.
 */
import { isObject, type JsonObject, parseJson } from '../../src/core/json-body.ts'
import { chatVendor } from '../clients/vendors/chat.ts'
import { geminiVendor } from '../clients/vendors/gemini.ts'
import { messagesVendor } from '../clients/vendors/messages.ts'
import { responsesVendor } from '../clients/vendors/responses.ts'
import {
  type Counts,
  newMemory,
  type Script,
  type ScriptedReply,
  type UnderstoodRequest,
} from '../clients/vendors/script.ts'
import type { VendorRequest } from '../server/harness.ts'
import { newPromptCache } from './prompt-cache.ts'

const makers = {
  chat: chatVendor,
  responses: responsesVendor,
  messages: messagesVendor,
  gemini: geminiVendor,
}
export type Dialect = keyof typeof makers
/** A vendor by the dialect of its address; the one of chat speaks responses at the same address, unless it is chat only. */
export type VendorId = Exclude<Dialect, 'responses'> | 'chat-only'
const dialects = Object.keys(makers) as readonly Dialect[]

/** One request that a vendor took, and what it counted for it; undefined when it answered with an error. */
export type Sighting = {
  readonly dialect: Dialect
  readonly headers: Headers
  readonly signal: AbortSignal | undefined
  readonly url: string
  readonly body: JsonObject
  counts: Counts | undefined
  /** The answer never ended. */
  cut: boolean
}

/** Decides an answer by what the vendor understood, or by the request itself. */
type Play = (heard: UnderstoodRequest, body: JsonObject) => ReturnType<Script>

type Stalled = { readonly left: Promise<void> }

/** The vendor whose prices bill a dialect. */
export const sellerOf = (dialect: Dialect): Exclude<Dialect, 'responses'> =>
  dialect === 'responses' ? 'chat' : dialect

export type VendorHost = {
  readonly addressOf: (vendor: VendorId) => string
  /** The requests that the vendors saw and refused since the last call of this. */
  readonly collect: () => { readonly seen: Sighting[]; readonly refused: string[] }
  /** Resolves when an answer stalls; `left` when the connection to it is closed by the other side. */
  readonly stalled: () => Promise<Stalled>
  /** Decides all answers from now on. */
  readonly play: (answer: Play) => void
  readonly stop: () => Promise<void>
}

/** Tokens of an answer: its characters divided by four. */
const outputOf = ({ text, thinking, calls }: ScriptedReply): number =>
  Math.ceil(`${text ?? ''}${thinking ?? ''}${calls.length === 0 ? '' : JSON.stringify(calls)}`.length / 4)

/** The vendor's key that a request brought; each has a cache of its own. */
export const keyIn = ({ headers }: Pick<Sighting, 'headers'>): string =>
  headers.get('x-api-key') ?? headers.get('x-goog-api-key') ?? headers.get('authorization') ?? ''

const leavingOf = (signal: AbortSignal | undefined): Promise<void> =>
  new Promise((resolve) => {
    if (signal === undefined) return
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })

export const startVendorHost = (): VendorHost => {
  let playing: Play = () => ({ text: 'Nothing is played.', calls: [] })
  let seen: Sighting[] = []
  let stalling = Promise.withResolvers<Stalled>()
  const speak = Object.fromEntries(
    dialects.map((id) => {
      const cache = newPromptCache(id)
      let current: Sighting | undefined
      const memory = newMemory((heard) => {
        const said = playing(heard, current?.body ?? {})
        if (typeof said === 'number' || current === undefined) return said
        const known = `${keyIn(current)} ${heard.model}`
        current.counts = { ...cache.read(known, current.body), output: Math.max(4, outputOf(said)) }
        current.cut = said.breaks !== undefined
        if (said.breaks === 'stall') stalling.resolve({ left: leavingOf(current.signal) })
        return { ...said, counts: current.counts }
      })
      const vendor = makers[id](memory)
      const answer = (request: VendorRequest): Response => {
        current = {
          dialect: id,
          headers: request.headers,
          signal: request.signal,
          url: request.url,
          body: request.body,
          counts: undefined,
          cut: false,
        }
        if (!/count_?tokens$/i.test(request.url)) seen.push(current)
        return vendor(request)
      }
      return [id, { answer, memory }]
    }),
  )
  const bound = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    idleTimeout: 0,
    fetch: async (request) => {
      const text = await request.text()
      const body = parseJson(text)
      const { pathname, search } = new URL(request.url)
      const at = pathname.split('/')[1] ?? ''
      const one =
        speak[at === 'chat' && pathname.endsWith('/responses') ? 'responses' : at.replace('-only', '')]
      if (one === undefined) return new Response('no such vendor', { status: 404 })
      const url = `${pathname}${search}`
      return one.answer({
        url,
        headers: request.headers,
        body: isObject(body) ? body : {},
        text,
        signal: request.signal,
      })
    },
  })
  return {
    addressOf: (vendor) =>
      `http://127.0.0.1:${bound.port}/${vendor}/${vendor === 'gemini' ? 'v1beta' : 'v1'}`,
    collect: () => {
      const refused = Object.values(speak).flatMap(({ memory }) => memory.refused.splice(0))
      const found = seen
      seen = []
      return { seen: found, refused }
    },
    stalled: () => stalling.promise,
    play: (answer) => {
      playing = answer
      stalling = Promise.withResolvers()
    },
    stop: () => bound.stop(true),
  }
}
