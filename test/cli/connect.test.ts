/** `turnpike connect` prints every recipe as docs have it, with the caller's address and key in it. */
import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { recipes } from '../../src/products/recipes/index.ts'
import { pageOf, type Recipe } from '../../src/products/recipes/recipe.ts'
import { runProgram } from '../program.ts'

const home = mkdtempSync(join(tmpdir(), 'turnpike-connect-'))
afterAll(() => rmSync(home, { recursive: true }))

const connect = (settings: Record<string, string>, ...args: string[]) =>
  runProgram(home, settings, 'connect', ...args)

const documented = (name: string) =>
  readFileSync(resolve(import.meta.dir, `../../docs/clients/${name}.md`), 'utf8')

test('without a client it lists all', async () => {
  const { code, out } = await connect({}, '--json')
  expect(code).toBe(0)
  expect(JSON.parse(out).map(({ client }: { client: string }) => client)).toEqual(
    recipes.map(({ name }) => name),
  )
})

const ours = { address: 'https://gateway.example', key: 'sk-mine', model: 'vendor/model-1' }
const filledIn = ({ name, model }: Recipe) =>
  documented(name)
    .replaceAll('http://127.0.0.1:8787', ours.address)
    .replaceAll('sk-…', ours.key)
    .replaceAll(model, ours.model)

test('each recipe is the page of the docs, with address and key filled in', () => {
  for (const recipe of recipes)
    expect([recipe.name, pageOf(recipe, ours)]).toEqual([recipe.name, filledIn(recipe)])
})

test.each([recipes[0], recipes.at(-1)])('the program prints it', async (recipe) => {
  if (recipe === undefined) throw new Error('there is no recipe')
  const options = ['--address', `${ours.address}/v1/`, '--key', ours.key, '--model', ours.model]
  const { code, out } = await connect({}, recipe.name, ...options)
  expect([code, out]).toEqual([0, filledIn(recipe)])
})

test('the address is that of the settings and the key that of the environment', async () => {
  const settings = { HOST: '0.0.0.0', PORT: '9000', TURNPIKE_KEY: 'sk-env' }
  const { out } = await connect(settings, 'claude-code')
  expect(out).toContain('export ANTHROPIC_BASE_URL=http://127.0.0.1:9000\n')
  expect(out).toContain('export ANTHROPIC_API_KEY=sk-env\n')
})

test('the model is one that the server of the settings sells', async () => {
  const fresh = await connect({}, 'claude-code')
  expect([fresh.code, fresh.out]).toEqual([0, expect.stringContaining('ANTHROPIC_MODEL=local/echo-1\n')])
  const selling = await connect({ ANTHROPIC_API_KEY: 'k' }, 'claude-code')
  expect(selling.out).toContain('ANTHROPIC_MODEL=anthropic/claude-sonnet-4-6\n')
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
