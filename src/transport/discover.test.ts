/** Models on localhost: small servers that answer like Ollama, llama-server and LM Studio, and others that do not. */
import { afterAll, expect, test } from 'bun:test'
import { buildCatalogue } from '../pricing/catalogue.ts'
import { discover, type LocalServer } from './discover.ts'

const stops: (() => unknown)[] = []
afterAll(async () => {
  for (const stop of stops) await stop()
})

type SeenRequest = { readonly method: string; readonly path: string }

/** A server on a free loopback port under the name of a place. */
const place = (
  id: string,
  answer: () => Response | Promise<Response>,
): LocalServer & { readonly requests: SeenRequest[] } => {
  const requests: SeenRequest[] = []
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: (request) => {
      requests.push({ method: request.method, path: new URL(request.url).pathname })
      return answer()
    },
  })
  stops.push(() => server.stop(true))
  return { id, baseUrl: `http://127.0.0.1:${server.port}/v1`, requests }
}

const ollama = () =>
  Response.json({
    object: 'list',
    data: [
      { id: 'llama3.2:latest', object: 'model', created: 1_790_000_000, owned_by: 'library' },
      { id: 'nomic-embed-text:latest', object: 'model', created: 1_790_000_000, owned_by: 'library' },
    ],
  })

const llamaServer = () =>
  Response.json({
    models: [{ name: 'qwen.gguf', model: 'qwen.gguf', capabilities: ['completion'] }],
    object: 'list',
    data: [
      {
        id: 'qwen.gguf',
        object: 'model',
        created: 1_790_000_000,
        owned_by: 'llamacpp',
        meta: { vocab_type: 2, n_ctx_train: 32_768, n_embd: 896, size: 675_710_816 },
      },
    ],
  })

const lmStudio = () =>
  Response.json({
    data: [
      { id: 'qwen2.5-7b-instruct', object: 'model', owned_by: 'organization_owner' },
      { id: 'text-embedding-bge-small', object: 'model', owned_by: 'organization_owner' },
    ],
    object: 'list',
  })

const none: ReadonlySet<string> = new Set()
const closed: LocalServer = { id: 'closed', baseUrl: 'http://127.0.0.1:1/v1' }

test('each kind of server is found with all its models, free of charge', async () => {
  const places = [
    place('ollama', ollama),
    place('llama-server', llamaServer),
    place('lmstudio', lmStudio),
  ] as const
  const found = await discover(none, places)
  expect(found.map(({ models }) => models.map(({ id, kind }) => [id, kind]))).toEqual([
    [
      ['ollama/llama3.2:latest', 'chat'],
      ['ollama/nomic-embed-text:latest', 'embeddings'],
    ],
    [['llama-server/qwen.gguf', 'chat']],
    [
      ['lmstudio/qwen2.5-7b-instruct', 'chat'],
      ['lmstudio/text-embedding-bge-small', 'embeddings'],
    ],
  ])
  for (const { requests } of places) expect(requests).toEqual([{ method: 'GET', path: '/v1/models' }])
  expect(found.map(({ setup }) => [setup.vendor.id, setup.baseUrl, setup.secrets])).toEqual(
    places.map(({ id, baseUrl }) => [id, baseUrl, []]),
  )
  for (const { models } of found)
    for (const model of models) {
      expect(model.price.rates).toEqual({ input: 0, output: 0 })
      expect(model.id).toBe(`${model.vendor}/${model.upstreamName}`)
    }
})

test('what was found can be sold: the catalogue takes a price of zero for a price', async () => {
  const found = await discover(none, [place('ollama', ollama)])
  const catalogue = buildCatalogue({
    vendors: found.map(({ setup }) => ({ id: setup.vendor.id, shortIds: false })),
    extra: found.flatMap(({ models }) => models),
    overrides: {},
    markup: '1.5',
    discount: '0.5',
    now: () => 0,
  })
  expect(catalogue.find('ollama/llama3.2:latest')?.price.rates.output).toBe(0)
})

test('a vendor that the operator set up under the same name wins: nobody is asked', async () => {
  const own = place('ollama', ollama)
  expect(await discover(new Set(['ollama']), [own])).toEqual([])
  expect(own.requests).toEqual([])
})

test.each<[string, () => Response | Promise<Response>]>([
  ['a page', () => new Response('<html>It works!</html>', { headers: { 'content-type': 'text/html' } })],
  ['an error', () => Response.json({ object: 'list', data: [{ id: 'm' }] }, { status: 500 })],
  ['a server that wants a key', () => Response.json({ error: 'unauthorized' }, { status: 401 })],
  ['JSON of another shape', () => Response.json({ data: 'none' })],
  ['a list', () => Response.json([{ id: 'm' }])],
  ['models without names', () => Response.json({ data: [{ id: '' }, { name: 'm' }, null, 7] })],
  ['an empty list', () => Response.json({ data: [] })],
  ['more than a megabyte', () => Response.json({ data: [{ id: 'm'.repeat(1_000_001) }] })],
  ['a server that says nothing', () => new Promise<Response>(() => undefined)],
  ['a body that does not end', () => new Response(new ReadableStream({ pull: () => Bun.sleep(10_000) }))],
])('%s is passed over, and the others are found all the same', async (_what, answer) => {
  // A start does not wait for servers that are absent: two of these never answer.
  const found = await discover(none, [place('odd', answer), closed, place('lmstudio', lmStudio)])
  expect(found.map(({ setup }) => setup.vendor.id)).toEqual(['lmstudio'])
})

test('a redirect is not followed: it could lead off this machine', async () => {
  const target = place('target', ollama)
  const odd = place('odd', () => Response.redirect(`${target.baseUrl}/models`, 302))
  expect(await discover(none, [odd])).toEqual([])
  expect(target.requests).toEqual([])
})
