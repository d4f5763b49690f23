/** Each method of the official client for responses and conversations works or is refused by name; none finds no address. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import OpenAI from 'openai'
import { until } from '../until.ts'
import { type FiveVendors, listenWithVendors, modelOf } from './harness.ts'
import { officialMethods, type Rig } from './official-methods.ts'

let it: FiveVendors
let rig: Rig

beforeAll(async () => {
  it = await listenWithVendors({ responsesKeptMs: 3_600_000 })
  const client = new OpenAI({ apiKey: it.key, baseURL: it.baseURL, maxRetries: 0 })
  const model = modelOf.messages
  const { id: response } = await client.responses.create({ model, input: 'hi', background: true })
  await until(async () => (await client.responses.retrieve(response)).status === 'completed')
  rig = { client, model, response, conversation: (await client.conversations.create()).id }
})
afterAll(() => it.stop())

/** The methods that the client has, with those of its inner resources. */
const methodsOf = (resource: object, path: string): readonly string[] => [
  ...Object.getOwnPropertyNames(Object.getPrototypeOf(resource))
    .filter((name) => name !== 'constructor')
    .map((name) => `${path}.${name}`),
  ...Object.entries(resource)
    .filter(([name, inner]) => !name.startsWith('_') && typeof inner === 'object')
    .flatMap(([name, inner]) => methodsOf(inner, `${path}.${name}`)),
]

test('the table has every method of the client, and no other', () => {
  const { responses, conversations } = rig.client
  const all = [...methodsOf(responses, 'responses'), ...methodsOf(conversations, 'conversations')]
  expect(Object.keys(officialMethods).toSorted()).toEqual(all.toSorted())
})

test.each(Object.entries(officialMethods))('%s', async (name, { here, run }) => {
  const refusal = await run(rig).then(
    () => undefined,
    ({ status, message }) => ({ status, message }),
  )
  if (here === 'works') expect(refusal).toBeUndefined()
  else
    expect(refusal).toEqual({ status: 400, message: expect.stringContaining(name.split('.').at(-1) ?? '') })
})
