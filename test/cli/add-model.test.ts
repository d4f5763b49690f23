/** `turnpike models add`: the file keeps its content, the model is sold at its price, and a mistake writes nothing. */
import { afterEach, beforeEach, expect, test } from 'bun:test'
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { addModel, type Prompt } from '../../src/cli/commands/add-model.ts'
import { runProgram } from '../program.ts'

let folder: string
let file: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'turnpike-models-'))
  file = join(folder, 'turnpike.yaml')
})
afterEach(() => rmSync(folder, { recursive: true }))

const settings = { DATABASE_URL: 'sqlite::memory:', OPENAI_API_KEY: 'k' }
const run = (...args: string[]) => runProgram(folder, settings, 'models', ...args)
const flags = ['--input', '2', '--output', '10.5', '--context', '1050000', '--max-output', '128000']

/** The files of the folder, without those that the runtime keeps in a home. */
const filesIn = (path: string) => readdirSync(path).filter((name) => !name.startsWith('.'))

const BEFORE = `# Ours.
markup: "1.5" # agreed in spring

vendors:
  openai:
    # Two accounts.
    keys: ["\${OPENAI_API_KEY}"]

# Equals.
failover:
  openai/gpt-5.6-sol: [openai/gpt-5.6-terra]
`

test('a model is added beside what is there, comments kept, and sold at the marked-up price', async () => {
  writeFileSync(file, BEFORE)
  chmodSync(file, 0o640)
  const long = ['--above', '272000', '--input-above', '4', '--output-above', '15', '--cheaper-tier', 'flex']
  const cached = ['--cache-write', '2.5', '--cache-write-1h', '4']
  const { code, out, errors } = await run('add', 'openai/gpt-next', ...flags, ...cached, ...long)
  expect([errors, code]).toEqual(['', 0])
  expect(out).toContain('A running server sells it within seconds')
  expect(readFileSync(file, 'utf8')).toBe(
    BEFORE.replace(
      '\n# Equals.',
      `    models:
      gpt-next:
        input_usd_per_1m: "2"
        output_usd_per_1m: "10.5"
        cache_write_usd_per_1m: "2.5"
        cache_write_1h_usd_per_1m: "4"
        tiers:
          - above_input_tokens: 272000
            input_usd_per_1m: "4"
            output_usd_per_1m: "15"
        context_tokens: 1050000
        max_output_tokens: 128000
        cheaper_tier: flex

# Equals.`,
    ),
  )
  expect([statSync(file).mode & 0o777, filesIn(folder)]).toEqual([0o640, ['turnpike.yaml']])
  const listed: any[] = JSON.parse((await run('--json')).out)
  const [full, twin] = ['openai/gpt-next', 'openai/gpt-nextl'].map((id) =>
    listed.find((one) => one.id === id),
  )
  expect([full.pricing.per_1m_input_usd, full.pricing.tiers[0].per_1m_output_usd]).toEqual(['3', '22.5'])
  expect([twin.discounted, twin.pricing.per_1m_input_usd]).toEqual([true, '1.5'])
  // A server does not drop a price because a file changed, so it would go on at the one of before.
  const fewer = await run('add', 'openai/gpt-next', ...flags, '--replace')
  expect([fewer.code, fewer.out]).toEqual([
    0,
    expect.stringContaining('sells it so after turnpike config apply'),
  ])
  expect(fewer.out).not.toContain('within seconds')
})

test('without a file one is made; a vendor that is off is named; programs get JSON', async () => {
  const { code, out } = await run('add', 'groq/new/one', ...flags, '--json')
  expect([code, JSON.parse(out)]).toEqual([0, { id: 'groq/new/one', file: './turnpike.yaml', sold: false }])
  expect(readFileSync(file, 'utf8')).toStartWith('vendors:\n  groq:\n    models:\n      new/one:\n')
})

const prices = { input: '2', output: '10.5', context: '1050000', maxOutput: '128000' }

test.each([
  ['openai/x', { output: '1', context: '9', maxOutput: '9' }, '--input is missing'],
  ['openai/x', { ...prices, input: '1.2345678' }, 'vendors.openai.models.x.input_usd_per_1m must be USD'],
  ['openai/x', { ...prices, capabilities: 'flying' }, 'vendors.openai.models.x.capabilities'],
  ['openai/x', { ...prices, maxOutput: '0' }, '--max-output must be a number of tokens'],
  ['nowhere/x', prices, 'vendors.nowhere.base_url is missing'],
  ['openai/gpt-5.6-sol', prices, 'openai/gpt-5.6-sol is already sold; --replace'],
  ['gpt-5', prices, "'gpt-5' must be <vendor>/<model>"],
])('%s with %j is refused, and nothing is written', async (id, options, message) => {
  writeFileSync(file, BEFORE)
  const environment = { ...settings, TURNPIKE_CONFIG: file, DISCOVER: 'off' }
  await expect(addModel(environment, { id, options, ask: undefined })).rejects.toThrow(message)
  expect([readFileSync(file, 'utf8'), filesIn(folder)]).toEqual([BEFORE, ['turnpike.yaml']])
})

test.each([
  ['vendors:\n    openai:\n        keys:\n        - a\n        - b\n', '            x:\n'],
  ['vendors: { openai: { keys: [ a ] } }\naliases: { fast: gpt-6-luna }\n', 'x:'],
])('what is there stays as it was written: %j', async (before, added) => {
  writeFileSync(file, before)
  const environment = { TURNPIKE_CONFIG: file, DISCOVER: 'off' }
  await addModel(environment, { id: 'openai/x', options: { ...prices, json: true }, ask: undefined })
  const after = readFileSync(file, 'utf8')
  expect(after).toContain(added)
  for (const line of before.split('\n').slice(1)) expect(after).toContain(line)
})

test('what no flag says is asked for, once', async () => {
  const asked: string[] = []
  const answers = ['0.02', '8192']
  const ask: Prompt = async (question) => {
    asked.push(question)
    return ` ${answers.shift()} `
  }
  const environment = { TURNPIKE_CONFIG: file, DISCOVER: 'off' }
  writeFileSync(file, '# Ours.\n')
  await addModel(environment, { id: 'mistral/embed-next', options: { kind: 'embeddings', json: true }, ask })
  expect(asked.map((question) => question.slice(0, 40))).toEqual([
    'mistral/embed-next: USD for a million to',
    'mistral/embed-next: tokens of input and ',
  ])
  expect(readFileSync(file, 'utf8')).toBe(
    '# Ours.\n\nvendors:\n  mistral:\n    models:\n      embed-next:\n        kind: embeddings\n' +
      '        input_usd_per_1m: "0.02"\n        context_tokens: 8192\n',
  )
})
