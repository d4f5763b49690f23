/** `turnpike connect`: every recipe is printed as it stands in docs, with the caller's address and key in it. */
import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { resolve } from 'node:path'
import { recipes } from '../../src/products/recipes/index.ts'
import { runProgram } from '../program.ts'

const connect = (settings: Record<string, string>, ...args: string[]) =>
  runProgram(tmpdir(), settings, 'connect', ...args)

const documented = (name: string) =>
  readFileSync(resolve(import.meta.dir, `../../docs/clients/${name}.md`), 'utf8')

test('without a client it lists all', async () => {
  const { code, out } = await connect({}, '--json')
  expect(code).toBe(0)
  expect(JSON.parse(out).map(({ client }: { client: string }) => client)).toEqual(
    recipes.map(({ name }) => name),
  )
})

test('each recipe is the page of the docs, with address and key filled in', async () => {
  for (const { name, model } of recipes) {
    const { code, out } = await connect(
      {},
      name,
      '--address',
      'https://gateway.example/v1/',
      '--key',
      'sk-mine',
      '--model',
      'vendor/model-1',
    )
    expect([name, code]).toEqual([name, 0])
    expect(out).toBe(
      documented(name)
        .replaceAll('http://127.0.0.1:8787', 'https://gateway.example')
        .replaceAll('sk-…', 'sk-mine')
        .replaceAll(model, 'vendor/model-1'),
    )
  }
})

test('the address is that of the settings and the key that of the environment', async () => {
  const settings = { HOST: '0.0.0.0', PORT: '9000', TURNPIKE_KEY: 'sk-env' }
  const { out } = await connect(settings, 'claude-code')
  expect(out).toContain('export ANTHROPIC_BASE_URL=http://127.0.0.1:9000\n')
  expect(out).toContain('export ANTHROPIC_API_KEY=sk-env\n')
})

test('an unknown client and a wrong address are refused with the way out', async () => {
  const unknown = await connect({}, 'emacs')
  expect([unknown.code, unknown.errors]).toEqual([
    1,
    "turnpike: there is no recipe for 'emacs'; 'turnpike connect' shows them\n",
  ])
  const wrong = await connect({}, 'codex', '--address', 'gateway.example')
  expect([wrong.code, wrong.errors]).toEqual([
    1,
    "turnpike: --address must be a URL such as https://gateway.example, not 'gateway.example'\n",
  ])
})
