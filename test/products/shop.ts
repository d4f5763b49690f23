/** A server that sells everything: the price table, every vendor's products, the built-in ones. Vendors are scripted. */
import type { Assets } from '../../src/assets/assets.ts'
import { type JsonObject, parseJson } from '../../src/core/json-body.ts'
import type { Model } from '../../src/core/model.ts'
import { Secret } from '../../src/core/secret.ts'
import { readInputs } from '../../src/media/inputs.ts'
import { modelOf } from '../../src/media/models.ts'
import type { MediaModel } from '../../src/media/product.ts'
import type { Inputs, VendorAnswer } from '../../src/media/shape.ts'
import { buildCatalogue } from '../../src/pricing/catalogue.ts'
import { localFetch } from '../../src/transport/local.ts'
import { mediaHere } from '../../src/transport/local-media/serve.ts'
import { vendors } from '../../src/vendors/index.ts'
import { local, localModels } from '../../src/vendors/local/local.ts'
import type { VendorFetch, VendorSetup } from '../../src/vendors/setup.ts'
import type { Vendor } from '../../src/vendors/vendor.ts'
import { png, unread } from '../server/asset-rig.ts'
import { completion, startTestServer, type TestServer } from '../server/harness.ts'

type SoldProduct = { readonly id: string; readonly vendor: string; readonly record: MediaModel }

const builtIn: Vendor = { ...local, media: mediaHere }

/** Every record of a product. */
export const records: readonly SoldProduct[] = [builtIn, ...vendors].flatMap(({ id, media }) =>
  (media?.models ?? []).map((record) => ({ id: `${id}/${record.name}`, vendor: id, record })),
)

export const catalogueOf = (more: readonly Model[] = []) =>
  buildCatalogue({
    vendors: [builtIn, ...vendors].map(({ id, shortIds }) => ({ id, shortIds: shortIds === true })),
    extra: [...localModels, ...records.map(({ vendor, record }) => modelOf(vendor, record)), ...more],
    overrides: {},
    markup: '1.1',
    discount: '0.5',
    now: () => Date.parse('2026-11-22'),
  })

const picture = png(3, 2).toString('base64')

/** Answers of vendors of products, each read by the shape that understands it. */
const replies: readonly { readonly type: string; readonly body: JsonObject | Uint8Array }[] = [
  {
    type: 'application/json',
    body: {
      data: [{ b64_json: picture }],
      candidates: [
        {
          finishReason: 'STOP',
          content: { parts: [{ inlineData: { mimeType: 'image/png', data: picture } }] },
        },
      ],
      usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 1_000, totalTokenCount: 1_005 },
      usage: { input_tokens: 20, output_tokens: 200, total_tokens: 220, seconds: 1 },
    },
  },
  { type: 'application/json', body: { text: 'Hello.', usage: { type: 'duration', seconds: 1 } } },
  {
    type: 'application/json',
    body: {
      text: 'Hello.',
      usage: {
        type: 'tokens',
        input_tokens: 9,
        output_tokens: 4,
        input_token_details: { audio_tokens: 9, text_tokens: 0 },
      },
    },
  },
  {
    type: 'application/json',
    body: {
      results: [{ title: 'a', url: 'https://example.com/', flagged: false, categories: {} }],
      id: 'x',
      pages: [{ index: 0, markdown: 'Hello.' }],
      usage_info: { pages_processed: 1 },
      costDollars: { total: 0.005 },
    },
  },
  {
    type: 'application/json',
    body: {
      metadata: { duration: 0.2 },
      results: { channels: [{ alternatives: [{ transcript: 'Hello.', words: [] }] }] },
    },
  },
  ...['49443304', 'https://example.com/song.mp3'].map((audio) => ({
    type: 'application/json',
    body: {
      data: { audio, image_urls: ['https://example.com/a.png'] },
      base_resp: { status_code: 0 },
      extra_info: { usage_characters: 5, music_duration: 1_000 },
    },
  })),
  {
    type: 'application/json',
    body: {
      status: 'completed',
      steps: [{ type: 'model_output', content: [{ type: 'audio', data: 'SUQz', mime_type: 'audio/mpeg' }] }],
    },
  },
  { type: 'image/png', body: png(3, 2) },
  { type: 'audio/mpeg', body: new Uint8Array([73, 68, 51, 4, 0, 0, 0, 0, 0, 0]) },
  {
    type: 'text/event-stream',
    body: new TextEncoder().encode(
      'data: {"type":"speech.audio.delta","audio":"SUQz"}\n\ndata: {"type":"speech.audio.done","usage":{"input_tokens":5,"output_tokens":9,"total_tokens":14}}\n\n',
    ),
  },
]

const readOf = ({ type, body }: (typeof replies)[number]): VendorAnswer => {
  const bytes = body instanceof Uint8Array ? body : new TextEncoder().encode(JSON.stringify(body))
  return {
    status: 200,
    header: (name) => (name === 'content-type' ? type : undefined),
    bytes,
    json: body instanceof Uint8Array ? undefined : parseJson(new TextDecoder().decode(bytes)),
  }
}

/** A good answer to the product's example. Throws where none of the replies is good. */
const goodReply = ({ id, record }: SoldProduct): Response => {
  const { shape } = record
  const inputs = readInputs(record, record.example) as Inputs
  for (const reply of replies) {
    const answer = readOf(reply)
    const verdict = shape.flow === 'once' ? shape.read(answer, inputs) : undefined
    if (verdict?.verdict !== 'done') continue
    // A vendor bills in the units that its card prices.
    const units = Object.keys(verdict.measured ?? {})
    if (units.every((unit) => record.card.rows.some(({ rates }) => Object.hasOwn(rates, unit))))
      return new Response(new Uint8Array(answer.bytes), { headers: { 'content-type': reply.type } })
  }
  throw new Error(`no reply is a good answer of ${id}`)
}

export type Shop = TestServer & {
  /** The next vendor's answer to a product, instead of a good one. */
  fail(answer: Answer | undefined): void
}

const kept = (): Pick<Assets, 'keep' | 'bytes' | 'full'> => ({
  full: async () => undefined,
  bytes: async () => new Uint8Array(),
  keep: async ({ runId, index, type }) => ({
    id: `${runId}-${index}`,
    url: `http://turnpike.test/v1/assets/${runId}-${index}`,
    type,
    media_type: 'application/octet-stream',
    bytes: 10,
    sha256: '',
    expires_at: '2026-12-01T00:00:00.000Z',
  }),
})

const embedded = () =>
  Response.json({
    object: 'list',
    data: [{ object: 'embedding', index: 0, embedding: [0.5] }],
    model: 'x',
    usage: { prompt_tokens: 7, total_tokens: 7 },
  })

type Setup = Parameters<typeof startTestServer>[0]

type Answer = () => Response | Promise<Response>

/** The vendors with products, which report to `onAsk` which of them is asked. */
const reporting = (vendor: Vendor, onAsk: (id: string) => void): Vendor => {
  const telling = ({ shape, ...record }: MediaModel): MediaModel => ({
    ...record,
    shape:
      shape.flow === 'once'
        ? {
            ...shape,
            ask: (inputs: Inputs, name: string) => {
              onAsk(`${vendor.id}/${record.name}`)
              return shape.ask(inputs, name)
            },
          }
        : shape,
  })
  const { media, path: _path, embeds: _embeds, ...rest } = vendor
  // Here all chat models are called in one dialect.
  return { ...rest, speaks: 'chat', ...(media ? { media: { models: media.models.map(telling) } } : {}) }
}

/** A server with all vendors on. Chat and embeddings models all speak chat completions here. */
export const openShop = async (more: Setup = {}): Promise<Shop> => {
  let wrong: Answer | undefined
  let asked = ''
  const answer: VendorFetch = async (url, init) => {
    if (wrong !== undefined) return wrong()
    const sold = records.find(({ id }) => id === asked)
    asked = ''
    if (sold !== undefined) return goodReply(sold)
    await new Response(init.body as never).text()
    return url.endsWith('/embeddings') ? embedded() : completion('Hello.')
  }
  const onAsk = (id: string) => {
    asked = id
  }
  const setups = vendors.map(
    (vendor): VendorSetup => ({
      vendor: reporting(vendor, onAsk),
      baseUrl: `http://${vendor.id}.invalid`,
      secrets: [new Secret('house-key')],
      fetch: answer,
    }),
  )
  const server = await startTestServer({
    assets: () => ({ ...unread, ...kept() }),
    more: [{ vendor: builtIn, baseUrl: local.baseUrl, secrets: [], fetch: localFetch }, ...setups],
    ...more,
  })
  Object.assign(server.gateway.offering, { catalogue: catalogueOf(more.models ?? []) })
  return {
    ...server,
    fail: (next) => {
      wrong = next
    },
  }
}
