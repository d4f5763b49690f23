/**
 * Vendors of every dialect from a seed: sound answers, and broken, slow, cut and hostile ones. Each notes what it
 * bills.
 */
import type { JsonObject } from '../../src/core/json-body.ts'
import { isObject, parseJson } from '../../src/core/json-body.ts'
import type { Nano } from '../../src/core/money.ts'
import { Secret } from '../../src/core/secret.ts'
import { SUMMARY_PROMPT } from '../../src/dialects/translate/compaction.ts'
import { localFetch } from '../../src/transport/local.ts'
import { local, localModels } from '../../src/vendors/local/local.ts'
import type { VendorFetch, VendorSetup } from '../../src/vendors/setup.ts'
import type { Vendor } from '../../src/vendors/vendor.ts'
import { mockVendor, testModel } from '../server/harness.ts'
import { type Choose, chooseFrom } from './choose.ts'
import { changed, spoilt } from './odd-json.ts'
import { counted, replies, type ScriptedReply, vectors } from './vendor-replies.ts'

const dialects = ['chat', 'messages', 'gemini', 'converse', 'responses'] as const
const styles = ['gemini', 'vertex', 'invoke'] as const
/** Keys of each vendor: a key that failed rests, and the others go on. */
const KEYS = 12

const vendorOf = (id: string, more: Partial<Vendor>): Vendor => ({ ...mockVendor, id, ...more })

/** Those with scripted answers. */
export const scriptedVendors: readonly Vendor[] = [
  ...dialects.map((speaks) =>
    vendorOf(`v-${speaks}`, {
      ...(speaks === 'chat' ? {} : { speaks }),
      ...(speaks === 'converse' ? { framing: 'aws' as const } : {}),
      cancel: speaks === 'messages' || speaks === 'responses' ? 'drain' : 'stop',
    }),
  ),
  ...styles.map((embeds) => vendorOf(`e-${embeds}`, { embeds })),
]

const embeddings = { kind: 'embeddings', maxOutputTokens: 0 } as const
const capabilities = ['streaming', 'function_calling', 'reasoning'] as const

export const chatModels = [...dialects.map((id) => `v-${id}/small`), 'local/echo-1']
export const embedders = ['v-chat/embed', ...styles.map((id) => `e-${id}/embed`), 'local/hash-embed-1']

export const models = [
  ...dialects.map((id) => testModel('small', { id: `v-${id}/small`, vendor: `v-${id}`, capabilities })),
  testModel('embed', { ...embeddings, id: 'v-chat/embed', vendor: 'v-chat' }),
  ...styles.map((id) => testModel('embed', { ...embeddings, id: `e-${id}/embed`, vendor: `e-${id}` })),
  ...localModels,
]

/** A vendor's answer; `cost` is what it bills, undefined where nobody can say. */
export type Served = { readonly vendor: string; readonly how: string; readonly cost: Nano | undefined }

export type Vendors = {
  readonly setups: readonly VendorSetup[]
  readonly served: Served[]
  /** Bytes they sent. */
  bytes(): number
  /** The next answers come from this seed; `sound` ones are those of a good vendor. */
  next(seed: number, sound: boolean): void
}

/** The output bound of a call, in any dialect. */
const boundIn = (body: JsonObject): number => {
  const inner = (name: string) => (isObject(body[name]) ? (body[name] as JsonObject) : {})
  const bounds = [
    body.max_tokens,
    body.max_completion_tokens,
    body.max_output_tokens,
    inner('generationConfig').maxOutputTokens,
    inner('inferenceConfig').maxTokens,
  ].filter((bound) => typeof bound === 'number')
  return Math.min(...bounds, 5)
}

const textsIn = (body: JsonObject): number => {
  const list = body.requests ?? body.instances ?? body.input
  return Array.isArray(list) && (typeof list[0] !== 'number' || body.input === undefined) ? list.length : 1
}

/** A sound vendor's answer to a call: within its bound, and with no more input than a call has. */
const saidTo = (body: JsonObject, choose: Choose): ScriptedReply => {
  const output = Math.max(1, boundIn(body) - choose.below(2))
  // Whoever is asked for a summary writes one.
  const summary = JSON.stringify(body).includes(SUMMARY_PROMPT.slice(0, 60))
  const calls = choose.rarely(4) && !summary && (body.tools !== undefined || body.toolConfig !== undefined)
  const letters = summary ? ['a', '漢', '"', '😀'] : ['a', '漢', '"', '\\', '\n', '\u2028', '😀']
  return {
    text: choose.one(letters).repeat(output),
    calls,
    input: 1 + choose.below(3),
    output,
  }
}

const costOf = ({ input, output }: ScriptedReply, embeds: boolean): Nano =>
  BigInt(input) * 1_000n + (embeds ? 0n : BigInt(output) * 10_000n)

/** What may happen to an answer on its way. */
const ills = ['changed', 'spoilt', 'cut', 'reset', 'bytes', 'silent', 'status', 'long', 'other'] as const

const joined = (pieces: readonly Uint8Array[]): string => new TextDecoder().decode(Buffer.concat(pieces))

/** The JSON in the text, changed: all of it, or that of one event. */
const changedText = (text: string, choose: Choose): string => {
  const lines = text.split('\n')
  const at = choose.below(lines.length)
  return lines
    .map((line, index) => {
      const [, head = '', body = ''] = /^(data: ?)?(.*)$/s.exec(line) ?? []
      const value = index === at || lines.length === 1 ? parseJson(body) : undefined
      if (value === undefined) return line
      return head + JSON.stringify(changed(changed(value, choose), choose))
    })
    .join('\n')
}

const noise = (choose: Choose): Uint8Array =>
  Uint8Array.from({ length: 1 + choose.below(4_000) }, () => choose.below(256))

type Body = { readonly pieces: readonly Uint8Array[]; readonly end: 'close' | 'hang' | 'break' }

const encode = (text: string): Body => ({ pieces: [new TextEncoder().encode(text)], end: 'close' })

const illBody = (ill: (typeof ills)[number], pieces: readonly Uint8Array[], choose: Choose): Body => {
  const bytes = Buffer.concat(pieces)
  const before = bytes.subarray(0, choose.below(bytes.length + 1))
  switch (ill) {
    case 'changed':
      return encode(changedText(joined(pieces), choose))
    case 'spoilt':
      return encode(spoilt(joined(pieces), choose))
    case 'cut':
      return { pieces: [before], end: 'close' }
    case 'reset':
      return { pieces: [before], end: 'break' }
    case 'silent':
      return { pieces: [before], end: 'hang' }
    case 'long': {
      const long = 'x'.repeat(choose.one([100_000, 1_000_000]))
      return encode(choose.one([long, `data: ${long}`, `data: {"a":"${long}"}\n\n`, `:${long}\n\n`]))
    }
    case 'other':
      return encode(choose.one(['', 'null', '[]', '<html></html>', 'data: [DONE]\n\n', '{"error":{}}']))
    default:
      return { pieces: [before, noise(choose), bytes.subarray(before.length)], end: 'close' }
  }
}

/** A body that is given up with its request, as the runtime's own are. */
const streamed = ({ pieces, end }: Body, signal: AbortSignal | undefined): ReadableStream<Uint8Array> => {
  let next = 0
  return new ReadableStream<Uint8Array>({
    start: (controller) => {
      signal?.addEventListener('abort', () => {
        try {
          controller.error(signal.reason)
        } catch {
          // It had ended.
        }
      })
    },
    pull: async (controller) => {
      const piece = pieces[next++]
      if (piece !== undefined) controller.enqueue(piece)
      else if (end === 'close') controller.close()
      else if (end === 'break') controller.error(new Error('connection reset'))
      else await new Promise(() => undefined)
    },
  })
}

const refusals = [400, 401, 403, 404, 413, 422, 429, 500, 503, 529, 302, 204] as const

export const startVendors = (): Vendors => {
  const served: Served[] = []
  let choose = chooseFrom(0)
  let sound = true
  let bytes = 0

  const answer = (vendor: Vendor, url: string, body: JsonObject, signal?: AbortSignal): Response => {
    const embeds = vendor.embeds !== undefined || url.endsWith('/embeddings')
    const stream = body.stream === true || /:streamGenerateContent|\/converse-stream/.test(url)
    const said = saidTo(body, choose)
    const counts = /count_?tokens|input_tokens/i.test(url)
    const { type, pieces } = counts
      ? counted(said)
      : embeds
        ? vectors[vendor.embeds ?? 'chat'](said, textsIn(body))
        : replies[vendor.speaks ?? 'chat'](said, stream)
    if (sound) {
      served.push({ vendor: vendor.id, how: 'sound', cost: counts ? 0n : costOf(said, embeds) })
      for (const piece of pieces) bytes += piece.length
      return new Response(streamed({ pieces, end: 'close' }, signal), { headers: { 'content-type': type } })
    }
    const ill = choose.one(ills)
    const status = ill === 'status' ? choose.one(refusals) : 200
    served.push({ vendor: vendor.id, how: `${ill} ${status}`, cost: undefined })
    if (status === 204) return new Response(null, { status })
    const made = illBody(ill, pieces, choose)
    const length = made.pieces.reduce((sum, piece) => sum + piece.length, 0)
    bytes += length
    const more: Record<string, string> = choose.rarely(4)
      ? { 'retry-after': choose.one(['x', '-1', '1e9', '0']), 'content-length': String(length) }
      : {}
    const mediaType = choose.rarely(5)
      ? choose.one(['text/html', 'application/json', 'text/event-stream'])
      : type
    return new Response(streamed(made, signal), { status, headers: { 'content-type': mediaType, ...more } })
  }

  const fetchOf =
    (vendor: Vendor): VendorFetch =>
    async (url, init) => {
      const value = parseJson(await new Response(init.body as never).text())
      return answer(vendor, url, isObject(value) ? value : {}, init.signal ?? undefined)
    }
  const ownFetch: VendorFetch = async (url, init) => {
    served.push({ vendor: 'local', how: 'local', cost: undefined })
    return localFetch(url, init)
  }

  return {
    setups: [
      ...scriptedVendors.map((vendor) => ({
        vendor,
        baseUrl: vendor.baseUrl,
        secrets: Array.from({ length: KEYS }, (_, at) => new Secret(`key-${at}`)),
        fetch: fetchOf(vendor),
      })),
      { vendor: local, baseUrl: local.baseUrl, secrets: [], fetch: ownFetch },
    ],
    served,
    bytes: () => bytes,
    next: (seed, good) => {
      choose = chooseFrom(seed)
      sound = good
    },
  }
}
