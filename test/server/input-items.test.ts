/** The inputs of a kept response, page by page, as the official client lists them. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type OpenAI from 'openai'
import { completion, startTestServer, type TestServer } from './harness.ts'
import { clientOf } from './official-client.ts'

let server: TestServer
let client: OpenAI

beforeAll(async () => {
  server = await startTestServer({ options: { responsesKeptMs: 3_600_000 } })
  server.answerWith(() => completion('hello'))
  client = clientOf(server, (await server.newKey()).token)
})
afterAll(() => server.stop())

const said = (content: string) => ({ type: 'message' as const, role: 'user' as const, content })
const textOf = (item: any): string => item.content[0].text

test('all of them, the last first, in as many pages as they need; a text is a message', async () => {
  const texts = ['one', 'two', 'three', 'four', 'five']
  const { id, output } = await client.responses.create({ model: 'mock/small', input: texts.map(said) })
  const page = await client.responses.inputItems.list(id, { limit: 2 })
  expect(page.data.map(textOf)).toEqual(['five', 'four'])
  expect(page.data[0]).toMatchObject({
    type: 'message',
    role: 'user',
    status: 'completed',
    content: [{ type: 'input_text', text: 'five' }],
  })
  const all: string[] = []
  for await (const item of client.responses.inputItems.list(id, { order: 'asc', limit: 2 }))
    all.push(textOf(item))
  expect(all).toEqual(texts)

  // A reference is shown as what it names, and the response before is not part of the list.
  const reference = { type: 'item_reference' as const, id: output[0]?.id ?? '' }
  const input = [said('two'), reference]
  const second = await client.responses.create({ model: 'mock/small', input, previous_response_id: id })
  const listed = await client.responses.inputItems.list(second.id, {
    order: 'asc',
    include: ['message.output_text.logprobs', 'reasoning.encrypted_content'],
  })
  expect(listed.data.map((item: any) => [item.role, textOf(item)])).toEqual([
    ['user', 'two'],
    ['assistant', 'hello'],
  ])
  expect(listed.data[1]?.id).toBe(reference.id)
  expect(listed.has_more).toBe(false)
})

test('what is wrong is named, and another key sees nothing', async () => {
  const { id } = await client.responses.create({ model: 'mock/small', input: 'hi' })
  const told = (query: object) =>
    client.responses.inputItems.list(id, query).then(
      () => 'no error',
      ({ status, message }) => `${status} ${message}`,
    )
  expect(await told({ limit: 101 })).toContain("'limit' must be 1 to 100")
  expect(await told({ order: 'up' })).toContain("'order' must be asc or desc")
  expect(await told({ after: 'nobody' })).toContain("'after' must be the id of an item")
  expect(await told({ before: 'x' })).toContain("'before' is not a parameter")
  const stranger = clientOf(server, (await server.newKey()).token)
  const list = stranger.responses.inputItems.list(id)
  expect(
    await list.then(
      () => 0,
      ({ status }) => status,
    ),
  ).toBe(404)
})
