/** What official clients do beside calls: counting tokens, listing models, helpers that run tools, error classes. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createAnthropic } from '@ai-sdk/anthropic'
import { createGoogleGenerativeAI } from '@ai-sdk/google'
import Anthropic from '@anthropic-ai/sdk'
import { betaZodTool } from '@anthropic-ai/sdk/helpers/beta/zod'
import { GoogleGenAI, Type } from '@google/genai'
import { generateText } from 'ai'
import { z } from 'zod'
import { type FiveVendors, listenWithVendors, modelOf, vendorIds } from './harness.ts'
import { counts, person } from './vendors/script.ts'

let it: FiveVendors
let root: string
let anthropic: Anthropic
let google: GoogleGenAI

beforeAll(async () => {
  it = await listenWithVendors()
  root = it.baseURL.replace(/\/v1$/, '')
  anthropic = new Anthropic({ apiKey: it.key, baseURL: root, maxRetries: 0 })
  google = new GoogleGenAI({ apiKey: it.key, httpOptions: { baseUrl: root } })
})

afterAll(() => it.stop())

const modelIds = () => Object.values(modelOf)

test('@anthropic-ai/sdk counts tokens: exactly where the vendor speaks messages, else about', async () => {
  const messages = [{ role: 'user' as const, content: 'Hello there, how are you?' }]
  const tools = [{ name: 'get_time', input_schema: { type: 'object' as const } }]
  const exact = await anthropic.messages.countTokens({
    model: modelOf.messages,
    messages,
    tools,
    system: 'x',
  })
  expect(exact.input_tokens).toBe(counts.input)
  for (const model of [modelOf.chat, modelOf.gemini]) {
    const { data, response } = await anthropic.messages.countTokens({ model, messages }).withResponse()
    expect(data.input_tokens).toBeGreaterThan(3)
    expect(response.headers.get('x-estimated')).toBe('true')
  }
})

test('@anthropic-ai/sdk: answers name the model that was asked, or agents drop its thoughts', async () => {
  for (const model of modelIds()) {
    const asked = { model, max_tokens: 100, messages: [{ role: 'user' as const, content: 'Hello' }] }
    expect((await anthropic.messages.create(asked)).model).toBe(model)
    expect((await anthropic.messages.stream(asked).finalMessage()).model).toBe(model)
  }
})

test('@anthropic-ai/sdk lists and retrieves models', async () => {
  const ids: string[] = []
  for await (const { id } of anthropic.models.list()) ids.push(id)
  expect(ids).toEqual(expect.arrayContaining(modelIds()))
  // Page by page it is the same list, and a page is as long as was asked.
  const first = await anthropic.models.list({ limit: 3 })
  expect([first.data.length, first.has_more]).toEqual([3, true])
  const paged: string[] = []
  for await (const { id } of first) paged.push(id)
  expect(paged).toEqual(ids)
  const back = await anthropic.models.list({ limit: 2, before_id: ids[3] ?? '' })
  expect(back.data.map(({ id }) => id)).toEqual(ids.slice(1, 3))
  expect((await anthropic.models.retrieve(modelOf.messages)).id).toBe(modelOf.messages)
})

test('@anthropic-ai/sdk: its tool runner finishes a loop with every vendor', async () => {
  for (const vendor of vendorIds) {
    const final = await anthropic.beta.messages.toolRunner({
      model: modelOf[vendor],
      max_tokens: 4_000,
      messages: [{ role: 'user', content: 'Weather and time, please.' }],
      tools: [
        betaZodTool({
          name: 'get_weather',
          description: 'Weather',
          inputSchema: z.object({ city: z.string(), days: z.number() }),
          run: ({ city }) => `sunny in ${city}`,
        }),
        betaZodTool({
          name: 'get_time',
          description: 'Time',
          inputSchema: z.object({ zone: z.string() }),
          run: () => '12:30',
        }),
      ],
    })
    const text = final.content.map((block) => (block.type === 'text' ? block.text : '')).join('')
    expect(text).toContain('sunny in Zürich "Altstadt"')
    expect(it.memories[vendor].refused).toEqual([])
  }
})

test('@anthropic-ai/sdk: errors have their classes and types', async () => {
  const asked = { max_tokens: 100, messages: [{ role: 'user' as const, content: 'FAIL 429' }] }
  const caught = async (work: Promise<unknown>) =>
    work.then(
      () => undefined,
      (error: unknown) => error,
    )
  const down = await caught(anthropic.messages.create({ ...asked, model: modelOf.gemini }))
  expect(down).toBeInstanceOf(Anthropic.InternalServerError)
  expect((down as InstanceType<typeof Anthropic.APIError>).type).toBe('overloaded_error')
  const unknown = await caught(anthropic.messages.create({ ...asked, model: 'no/model' }))
  expect(unknown).toBeInstanceOf(Anthropic.BadRequestError)
  const stranger = new Anthropic({ apiKey: 'sk-wrongwrongwrongwrong', baseURL: root, maxRetries: 0 })
  expect(await caught(stranger.messages.create({ ...asked, model: modelOf.chat }))).toBeInstanceOf(
    Anthropic.AuthenticationError,
  )
})

test('@google/genai counts tokens, lists and gets models, under both of its versions', async () => {
  for (const apiVersion of ['v1', 'v1beta']) {
    const client = new GoogleGenAI({ apiKey: it.key, httpOptions: { baseUrl: root, apiVersion } })
    const contents = 'Hello there, how are you?'
    expect((await client.models.countTokens({ model: modelOf.gemini, contents })).totalTokens).toBe(
      counts.input,
    )
    expect((await client.models.countTokens({ model: modelOf.chat, contents })).totalTokens).toBeGreaterThan(
      3,
    )
    const names: string[] = []
    for await (const { name } of await client.models.list()) names.push(name ?? '')
    expect(names).toEqual(expect.arrayContaining(modelIds().map((id) => `models/${id}`)))
    expect((await client.models.get({ model: modelOf.messages })).name).toBe(`models/${modelOf.messages}`)
    const { text } = await client.models.generateContent({ model: modelOf.messages, contents })
    expect(text).toContain('You said: Hello there')
  }
})

test('@google/genai: its own schemas, and its chat helper with functions that it runs itself', async () => {
  for (const vendor of vendorIds) {
    const model = modelOf[vendor]
    const { text } = await google.models.generateContent({
      model,
      contents: 'Who is it?',
      config: {
        responseMimeType: 'application/json',
        responseSchema: {
          type: Type.OBJECT,
          properties: {
            name: { type: Type.STRING, nullable: true, minLength: '1' },
            age: { type: Type.INTEGER, minimum: 0 },
            tags: { type: Type.ARRAY, items: { type: Type.STRING }, maxItems: '3' },
          },
          required: ['name', 'age'],
          propertyOrdering: ['name', 'age'],
        },
      },
    })
    expect(JSON.parse(text ?? '')).toEqual(person)
    const chat = google.chats.create({
      model,
      config: {
        tools: [
          {
            functionDeclarations: [
              {
                name: 'get_weather',
                parameters: { type: Type.OBJECT, properties: { city: { type: Type.STRING } } },
              },
              {
                name: 'get_time',
                parameters: { type: Type.OBJECT, properties: { zone: { type: Type.STRING } } },
              },
            ],
          },
        ],
      },
    })
    let answer = await chat.sendMessage({ message: 'Weather and time, step by step.' })
    for (let round = 0; round < 4 && (answer.functionCalls?.length ?? 0) > 0; round++)
      answer = await chat.sendMessage({
        message: answer.functionCalls!.map(({ name }) => ({
          functionResponse: { name: name ?? '', response: { output: `from ${name}` } },
        })),
      })
    expect(answer.text).toContain('from get_weather | from get_time')
    expect(it.memories[vendor].refused).toEqual([])
  }
})

test('AI SDK providers read the message of an error in every dialect', async () => {
  const models = [
    createAnthropic({ baseURL: it.baseURL, apiKey: it.key })(modelOf.chat),
    createGoogleGenerativeAI({ baseURL: `${root}/v1beta`, apiKey: it.key })(modelOf.chat),
  ]
  for (const model of models) {
    const failing = generateText({ model, prompt: 'FAIL 400', maxRetries: 0, maxOutputTokens: 100 })
    expect(failing).rejects.toThrow(/The vendor open refused the request: The scripted failure/)
    await failing.catch(() => undefined)
  }
})
