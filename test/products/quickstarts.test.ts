/** Quickstart pages: the test runs what it reads from the page, with only the key changed. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { recipes } from '../../src/products/recipes/index.ts'
import { localFetch } from '../../src/transport/local.ts'
import { local, localModels } from '../../src/vendors/local/local.ts'
import { startTestServer, type TestServer } from '../server/harness.ts'

const root = resolve(import.meta.dir, '../..')

let server: TestServer
let listening: ReturnType<typeof Bun.serve>
let folder: string
let key: string
beforeAll(async () => {
  server = await startTestServer({
    models: localModels,
    more: [{ vendor: local, baseUrl: local.baseUrl, secrets: [], fetch: localFetch }],
  })
  listening = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: (request) => server.fetch(request) })
  folder = await mkdtemp(join(tmpdir(), 'turnpike-quickstart-'))
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'))
  key = (await server.newKey()).token
})
afterAll(async () => {
  await listening.stop(true)
  await server.stop()
  await rm(folder, { recursive: true, force: true })
})

const letters: Readonly<Record<string, string>> = {
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&#39;': "'",
  '&amp;': '&',
}
const plain = (text: string) => text.replace(/&(?:lt|gt|quot|#39|amp);/g, (one) => letters[one] ?? one)

/** The blocks of a page by their names. */
const blocksOf = async (client: string): Promise<ReadonlyMap<string, string>> => {
  const response = await fetch(`http://127.0.0.1:${listening.port}/quickstart/${client}`)
  const text = await response.text()
  return new Map(
    [...text.matchAll(/<section class="wide" aria-label="([^"]*)"[^>]*><pre><code>([\s\S]*?)<\/code>/g)].map(
      ([, name = '', block = '']) => [plain(name), plain(block)],
    ),
  )
}

describe.each(recipes.map(({ name }) => name))('%s', (name) => {
  const recipe = recipes.find((one) => one.name === name)

  test('its page shows the recipe, with this address and a model that is sold here', async () => {
    const filled = recipe?.fill({
      address: `http://127.0.0.1:${listening.port}`,
      key: 'sk-…',
      model: 'local/echo-1',
    })
    const blocks = await blocksOf(name)
    expect(blocks.get('Install')).toBe(recipe?.install ?? '')
    expect(blocks.get('Variables') ?? '').toBe(filled?.variables.join('\n') ?? '')
    expect(blocks.get('First session')).toBe(filled?.first ?? '')
    for (const { path, text } of filled?.files ?? []) expect(blocks.get(path)).toBe(text)
  })
})

test.each(['openai', 'anthropic-sdk', 'google-genai', 'ai-sdk', 'langchain'])(
  '%s runs as its page says',
  async (name) => {
    const blocks = await blocksOf(name)
    const program = blocks.get('hello.mjs') ?? ''
    await writeFile(join(folder, 'hello.mjs'), program)
    const shell = `${blocks.get('Variables')}\nexec "${process.execPath}" ${(blocks.get('First session') ?? '').replace(/^node /, '')}`
    const child = Bun.spawn(['sh', '-c', shell.replaceAll('sk-…', key)], {
      cwd: folder,
      env: { PATH: process.env.PATH ?? '', HOME: folder },
      stdout: 'pipe',
      stderr: 'pipe',
    })
    const [out, errors, code] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
      child.exited,
    ])
    expect([code, code === 0 ? '' : errors]).toEqual([0, ''])
    expect(out.toLowerCase()).toContain('hello')
  },
)

const python = Bun.which('python3')

test.skipIf(python === null)('the Python of a quickstart runs as its page says', async () => {
  const program = (await blocksOf('openai')).get('Python') ?? ''
  const child = Bun.spawn([python ?? '', '-c', program], {
    env: { PATH: process.env.PATH ?? '', TURNPIKE_KEY: key },
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [out, errors, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ])
  expect([code, code === 0 ? '' : errors]).toEqual([0, ''])
  expect(out.toLowerCase()).toContain('hello')
})
