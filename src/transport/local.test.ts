/** The built-in models keep nobody waiting: linear work, bounds with clear refusals, and turns for others. */
import { expect, test } from 'bun:test'
import { mustBeLinear } from '../../test/cpu-growth.ts'
import { localFetch } from './local.ts'

const ask = (path: string, body: object): Promise<Response> =>
  localFetch(`local:/${path}`, { method: 'POST', headers: {}, body: JSON.stringify(body) })

const chat = (content: string, more: object = {}) =>
  ask('chat/completions', { model: 'echo-1', messages: [{ role: 'user', content }], ...more })

const errorOf = async (response: Response) => {
  const { error } = (await response.json()) as { error: { code: string; message: string } }
  return { status: response.status, code: error.code, message: error.message }
}

const tool = (name: string, parameters: object = { type: 'object' }) => ({
  type: 'function',
  function: { name, parameters },
})

/** Each makes a body of about n letters. */
const hostile: Readonly<Record<string, (n: number) => Promise<Response>>> = {
  'a prompt of blanks': (n) => chat(' '.repeat(n)),
  'a prompt of blanks and a letter': (n) => chat(`${' '.repeat(n)}a`),
  'a prompt that repeats half a tool': (n) =>
    chat('a'.repeat(n), { tools: Array.from({ length: 128 }, (_, at) => tool(`${'a'.repeat(50)}${at}`)) }),
  'stop sequences that nearly fit': (n) =>
    chat('aab'.repeat(n / 3), { stop: Array(16).fill(`${'aab'.repeat(80)}aba`) }),
  'one text to embed': (n) =>
    ask('embeddings', { model: 'hash-embed-1', input: 'abcdefghij '.repeat(n / 11) }),
  'one text of blanks to embed': (n) => ask('embeddings', { model: 'hash-embed-1', input: ' '.repeat(n) }),
}

for (const [name, send] of Object.entries(hostile))
  test(`${name} takes linear time`, () =>
    mustBeLinear(async (n) => void (await (await send(n)).text()), 30_000))

test('the same call gets the same id, another call another: clients tell answers apart by it', async () => {
  const idOf = async (content: string, more: object = {}) =>
    /"id":"([^"]+)"/.exec(await (await chat(content, more)).text())?.[1]
  expect(await idOf('one')).toBe(await idOf('one'))
  expect(await idOf('one')).not.toBe(await idOf('two'))
  expect(await idOf('one', { stream: true })).not.toBe(await idOf('two', { stream: true }))
})

test('more answers, values, tools, stops and numbers than there is room for are a 400 that names the field', async () => {
  const many = { type: 'array', minItems: 100, items: { type: 'string' } }
  const nested = Array.from({ length: 14 }).reduce<object>((items) => ({ ...many, items }), many)
  const wide = Object.fromEntries(Array.from({ length: 5_000 }, (_, at) => [`p${at}`, { type: 'string' }]))
  const schema = (value: object) => ({ type: 'json_schema', json_schema: { name: 's', schema: value } })
  const refused: readonly [field: string, answer: Promise<Response>][] = [
    ['n', chat('x', { n: 128 })],
    ['response_format', chat('x', { response_format: schema(nested) })],
    ['response_format', chat('x', { response_format: schema({ type: 'object', properties: wide }) })],
    ['tools', chat('x', { tools: [tool('f', nested)], tool_choice: 'required' })],
    ['tools', chat('x', { tools: Array.from({ length: 129 }, (_, at) => tool(`f${at}`)) })],
    ['stop', chat('x', { stop: Array(17).fill('a') })],
    ['stop', chat('x', { stop: ['a'.repeat(257)] })],
    ['input', ask('embeddings', { input: Array(2_048).fill('x') })],
    ['dimensions', ask('embeddings', { input: ['x', 'y', 'z'], dimensions: 65_536 })],
  ]
  for (const [field, answer] of refused) {
    const { status, message } = await errorOf(await answer)
    expect({ field, status, named: message.startsWith(`'${field}'`) }).toEqual({
      field,
      status: 400,
      named: true,
    })
  }
})

test('what is longer than the context is refused as that', async () => {
  const long = '.'.repeat(131_073)
  expect(await errorOf(await chat(long))).toMatchObject({ status: 400, code: 'context_length_exceeded' })
  const inputs = await ask('embeddings', { input: [long, long, '.'] })
  expect(await errorOf(inputs)).toMatchObject({ status: 400, code: 'context_length_exceeded' })
})

test('an answer has no more tokens than the model says, in stream and whole', async () => {
  const said = '.'.repeat(100_000)
  const whole: any = await (await chat(said)).json()
  expect(whole.usage.completion_tokens).toBe(16_384)
  expect(whole.choices[0]).toMatchObject({ finish_reason: 'length' })
  const events = (await (await chat(said, { stream: true })).text()).split('\n\n')
  expect(events.filter((event) => event.includes('"content"')).length).toBe(16_385)
})

test('others have a turn while long texts are embedded and long answers are sent', async () => {
  const turns = async (work: () => Promise<unknown>) => {
    let turns = 0
    let going = true
    const next = () => {
      turns++
      if (going) setImmediate(next)
    }
    setImmediate(next)
    await work()
    going = false
    return turns
  }
  const words = 'abcdefghij '.repeat(30_000)
  expect(await turns(() => ask('embeddings', { input: words }))).toBeGreaterThan(20)
  expect(await turns(async () => (await chat('.'.repeat(16_000), { stream: true })).text())).toBeGreaterThan(
    400,
  )
})
