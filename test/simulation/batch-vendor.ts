/**
 * A vendor in virtual time that answers calls and has batches of its own, and the files of batches; both outlive the
 * processes that use them. Each line says what it costs, so that its charge is known beforehand.
 */
import type { Assets } from '../../src/assets/assets.ts'
import { AssetFault } from '../../src/assets/take.ts'
import { isObject, type JsonObject, parseJson } from '../../src/core/json-body.ts'
import type { Model } from '../../src/core/model.ts'
import { geminiBatches } from '../../src/vendors/batches/gemini-form.ts'
import type { VendorFetch } from '../../src/vendors/setup.ts'
import type { Vendor } from '../../src/vendors/vendor.ts'
import type { World } from './world.ts'

/** What a line is for, and what its vendor makes of it. */
export type LineOrder = {
  readonly name: string
  readonly input: number
  readonly output: number
  readonly ms: number
  readonly wrong: boolean
}

const modelNamed = (upstreamName: string): Model => ({
  id: `mock/${upstreamName}`,
  vendor: 'mock',
  upstreamName,
  kind: 'chat',
  price: { rates: { input: 1_000_000, output: 10_000_000 }, tiers: [], version: 't' },
  contextTokens: 100_000,
  maxOutputTokens: 4_000,
  capabilities: ['streaming'],
  imageTokensMax: 1_000,
})

/** Lines of the first run here, those of the second in the vendor's own batches. */
export const here = modelNamed('here')
export const handed = modelNamed('handed')

/** What a line costs, in nano-USD. */
export const costOf = ({ input, output }: LineOrder, model: string): bigint =>
  (BigInt(input) * 1_000n + BigInt(output) * 10_000n) / (model === handed.id ? 2n : 1n)

export const batchesOfVendor: NonNullable<Vendor['batches']> = {
  form: { ...geminiBatches, callsMost: 5, takes: () => true },
  cachedInput: (name) => (name === handed.upstreamName ? 'half' : undefined),
}

type Part = {
  readonly name: string
  readonly displayName: string
  readonly lines: ReadonlyMap<string, JsonObject>
  readonly endsMs: number
  cancelled: boolean
  /** What it tells of its lines once it has ended: always the same. */
  told: readonly JsonObject[] | undefined
}

type BatchVendor = {
  /** The lines that it ran, by their name, with how often: each may be billed. */
  readonly ran: ReadonlyMap<string, number>
  readonly fetchOf: (alive: () => boolean) => VendorFetch
}

const jsonOf = (body: unknown): JsonObject => {
  const read = parseJson(new TextDecoder().decode(body as Uint8Array))
  if (!isObject(read)) throw new Error('a body is no JSON')
  return read
}

const orderIn = (body: JsonObject): LineOrder =>
  JSON.parse((body.messages as unknown as readonly { content: string }[])[0]?.content ?? '')

const answerOf = ({ name, input, output }: LineOrder): JsonObject => ({
  ...{ id: 'c', object: 'chat.completion', created: 1, model: 'm' },
  choices: [{ index: 0, message: { role: 'assistant', content: name }, finish_reason: 'stop' }],
  usage: { prompt_tokens: input, completion_tokens: output, total_tokens: input + output },
})

type Vendored = {
  readonly world: World
  readonly hit: (what: string) => void
  readonly fail: (law: string) => void
  /** Called for each line that reaches it, by its name. */
  readonly sent: (line: string) => void
  /** Whether some of its batches never end. */
  readonly hangs: boolean
}

export const createBatchVendor = ({ world, hit, fail, sent, hangs }: Vendored): BatchVendor => {
  const { random, pick } = world.draws('vendor of batches')
  const parts: Part[] = []
  const seen = new Set<string>()
  const ran = new Map<string, number>()
  const run = (order: LineOrder): JsonObject => {
    ran.set(order.name, (ran.get(order.name) ?? 0) + 1)
    return answerOf(order)
  }
  const take = (body: JsonObject): Part => {
    const { displayName, inputConfig } = body.batch as any
    const requests: any[] = inputConfig.requests.requests
    const lines = new Map(
      requests.map(({ metadata, request }): [string, JsonObject] => [metadata.key, request]),
    )
    for (const [id, line] of lines) {
      sent(orderIn(line).name)
      if (seen.has(id)) fail(`the vendor got the try ${id} of a line twice`)
      seen.add(id)
    }
    const ms = hangs && random() < 0.5 ? 1e12 : pick(100, 90_000)
    const at = { name: `batches/${parts.length}`, displayName, lines, endsMs: world.now() + ms }
    const part = { ...at, cancelled: false, told: undefined }
    parts.push(part)
    return part
  }
  /** Lines get lost, come twice, and come that nobody asked for, in any order. */
  const tell = ({ lines, cancelled }: Part): readonly JsonObject[] => {
    const all = [...lines].flatMap(([key, body]): JsonObject[] => {
      const order = orderIn(body)
      const metadata = { key }
      if (cancelled && random() < 0.6) return [{ metadata, error: { code: 1, message: 'cancelled' } }]
      if (order.wrong) return [{ metadata, error: { code: 3, message: 'wrong' } }]
      if (random() < 0.06) {
        hit('batches: its vendor loses a line')
        return []
      }
      const line = { metadata, response: run(order) }
      return random() < 0.1 ? [line, line] : [line]
    })
    const stray = { metadata: { key: 'nobody' }, response: answerOf(orderIn([...lines.values()][0] ?? {})) }
    return [...all, stray].sort(() => random() - 0.5)
  }
  const shown = (part: Part): JsonObject => {
    if (part.told === undefined && (part.cancelled || world.now() >= part.endsMs)) part.told = tell(part)
    const { name, displayName, told } = part
    const state = told === undefined ? 'RUNNING' : part.cancelled ? 'CANCELLED' : 'SUCCEEDED'
    return {
      ...{ name, metadata: { displayName, state: `BATCH_STATE_${state}` } },
      ...(told === undefined ? {} : { response: { inlinedResponses: { inlinedResponses: told as never } } }),
    }
  }
  const answer = (method: string, path: string, body: unknown): Response => {
    if (method === 'POST' && path.endsWith(':batchGenerateContent')) {
      if (random() < 0.15) return new Response('{"error":{"message":"busy"}}', { status: 429 })
      const part = take(jsonOf(body))
      if (random() < 0.85) return Response.json(shown(part))
      hit('batches: the name of a part is lost')
      return new Response('{}', { status: 500 })
    }
    if (random() < 0.05) return new Response('{}', { status: 500 })
    if (path === '/batches') return Response.json({ operations: parts.map(shown) })
    const part = parts.find(({ name }) => path === `/${name}` || path === `/${name}:cancel`)
    if (part === undefined) return new Response('{}', { status: 404 })
    if (method === 'POST') part.cancelled ||= part.told === undefined
    return Response.json(shown(part))
  }
  const call = (order: LineOrder): Response => {
    sent(order.name)
    if (order.wrong) return new Response('{"error":{"message":"wrong"}}', { status: 400 })
    if (random() < 0.1) return new Response('{"error":{"message":"busy"}}', { status: 429 })
    return Response.json(run(order))
  }
  return {
    ran,
    fetchOf:
      (alive) =>
      async (url, { method, body }) => {
        const later = (ms: number) =>
          new Promise<void>((resolve, reject) =>
            world.after(ms, () => (alive() ? resolve() : reject(new Error('the process is dead')))),
          )
        const path = new URL(url).pathname.replace('/v1', '')
        const order = path === '/chat/completions' ? orderIn(jsonOf(body)) : undefined
        await later(pick(1, 40))
        // What arrived is done, whether its process lives or not.
        const said = order === undefined ? answer(method ?? 'GET', path, body) : call(order)
        await later(order?.ms ?? pick(1, 300))
        return said
      },
  }
}

/** Files by their id; now and then one cannot be written. */
export const createFiles = (world: World, hit: (what: string) => void) => {
  const { random, pick } = world.draws('files')
  const files = new Map<string, Uint8Array>()
  const pause = () => new Promise<void>((resolve) => world.after(pick(1, 100), resolve))
  const uploads: Partial<Assets['uploads']> = {
    part: async (id, { first, last }) => {
      await pause()
      return files.get(id)?.subarray(first, last + 1)
    },
    keep: async ({ runId, place, pieces }) => {
      const read: Uint8Array[] = []
      for await (const piece of pieces) read.push(piece)
      await pause()
      if (random() < 0.1) {
        hit('batches: results are written again')
        throw new AssetFault('storage', 'no room', { again: true })
      }
      const id = `${runId}/${place}`
      if (!files.has(id)) files.set(id, Buffer.concat(read))
      return { id } as never
    },
  }
  const assets = { uploads, sweep: async () => 0 } as unknown as Assets
  return { assets, files }
}
