/**
 * Runs the first calls of descriptors and pages unchanged: by a shell, by Python, TypeScript and Go against a real
 * port.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { modelOf } from '../../src/media/models.ts'
import { localFetch } from '../../src/transport/local.ts'
import { mediaHere } from '../../src/transport/local-media/serve.ts'
import { local, localModels } from '../../src/vendors/local/local.ts'
import { type AssetServer, startAssetServer } from '../server/asset-rig.ts'

let server: AssetServer
let listening: ReturnType<typeof Bun.serve>
let base: string
let key: string
let folder: string
beforeAll(async () => {
  server = await startAssetServer({
    server: {
      models: [...localModels, ...mediaHere.models.map((record) => modelOf('local', record))],
      more: [
        { vendor: { ...local, media: mediaHere }, baseUrl: local.baseUrl, secrets: [], fetch: localFetch },
      ],
    },
  })
  listening = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    idleTimeout: 0,
    fetch: (request) => server.fetch(request),
  })
  base = `http://127.0.0.1:${listening.port}`
  key = (await server.newKey()).token
  folder = await mkdtemp(join(tmpdir(), 'turnpike-first-calls-'))
})
afterAll(async () => {
  await listening.stop(true)
  await server.stop()
  await rm(folder, { recursive: true, force: true })
})

const ran = async (command: readonly string[]): Promise<string> => {
  const child = Bun.spawn([...command], {
    cwd: folder,
    env: { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? folder, TURNPIKE_KEY: key },
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [out, errors] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ])
  expect([await child.exited, errors]).toEqual([0, ''])
  return out
}

const ids = ['echo-1', 'hash-embed-1', ...mediaHere.models.map(({ name }) => name)]

test.each(ids)('local/%s: its curl, by sh', async (name) => {
  const { example_curl: command } = (await (await fetch(`${base}/products/local/${name}.json`)).json()) as any
  const answer = JSON.parse(await ran(['sh', '-c', command]))
  expect(answer.error).toBeUndefined()
  expect(answer.usage.cost).toBeGreaterThanOrEqual(0)
  if (mediaHere.models.some((one) => one.name === name)) expect(answer.outputs.length).toBeGreaterThan(0)
})

const letters: Readonly<Record<string, string>> = {
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&#39;': "'",
  '&amp;': '&',
}

const blockOf = async (name: string, label: string): Promise<string> => {
  const text = await (await fetch(`${base}/products/local/${name}`)).text()
  const [, block = ''] =
    new RegExp(`aria-label="${label}"[^>]*><pre><code>([\\s\\S]*?)</code>`).exec(text) ?? []
  return block.replace(/&(?:lt|gt|quot|#39|amp);/g, (one) => letters[one] ?? one)
}

test.each(['qr-1', 'page-text-1', 'echo-1'])('local/%s: the programs of its page', async (name) => {
  await writeFile(join(folder, 'first.ts'), await blockOf(name, 'TypeScript'))
  expect(await ran([process.execPath, 'first.ts'])).toContain('cost')
  if (Bun.which('python3') !== null) {
    await writeFile(join(folder, 'first.py'), await blockOf(name, 'Python'))
    expect(await ran(['python3', 'first.py'])).toContain("'cost'")
  }
  const go = await blockOf(name, 'Go')
  if (Bun.which('go') !== null) {
    await writeFile(join(folder, 'first.go'), go)
    expect(await ran(['go', 'run', 'first.go'])).toContain('"cost"')
  }
  // Without Go on the machine, the test sends the same request itself.
  const [, method = '', address = ''] = /NewRequest\("(\w+)", (".+?"), body\)/.exec(go) ?? []
  const answer = await fetch(JSON.parse(address), {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: /NewReader\(`([^`]+)`\)/.exec(go)?.[1] ?? '',
  })
  expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining('"cost"')])
})
