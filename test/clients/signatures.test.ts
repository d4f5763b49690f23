/**
 * Thoughts and their signatures over three turns: the vendor must get back what it gave, through clients that know
 * nothing of signatures, and never another vendor's.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import Anthropic from '@anthropic-ai/sdk'
import { type Content, GoogleGenAI, type Part } from '@google/genai'
import OpenAI from 'openai'
import { tools } from './drivers/anthropic.ts'
import { runTool } from './drivers/driver.ts'
import { functionDeclarations } from './drivers/google.ts'
import { chatTools } from './drivers/openai.ts'
import {
  type FiveVendors,
  listenWithVendors,
  modelOf,
  otherModels,
  type VendorId,
  vendorIds,
} from './harness.ts'
import { drivers } from './matrix.ts'
import { thought, time, weather } from './vendors/script.ts'

let it: FiveVendors

beforeAll(async () => {
  it = await listenWithVendors()
})

beforeEach(() => {
  for (const memory of Object.values(it.memories)) {
    memory.signatures.length = 0
    memory.reasoning.length = 0
    memory.refused.length = 0
    memory.thinking = 0
  }
})

afterAll(() => it.stop())

const prompt = 'Weather and time, step by step.'
const steps = [[[weather.name, weather.args]], [[time.name, time.args]]]

for (const driver of drivers)
  describe(driver.name, () => {
    for (const stream of [false, true])
      for (const vendor of vendorIds)
        test(`three turns with ${vendor}${stream ? ', streamed' : ''}`, async () => {
          const client = driver.open({ baseURL: it.baseURL, key: it.key })
          const { rounds, text } = await client.loop({ model: modelOf[vendor], prompt, stream, thinks: true })
          const memory = it.memories[vendor]
          expect(memory.refused).toEqual([])
          expect(rounds as unknown).toEqual(steps)
          expect(text).toContain('sunny, 21 °C')
          expect(text).toContain('12:30')
          // The second request carries one turn of the model, the third both.
          if (vendor === 'gemini') expect(memory.signatures).toEqual(['own', 'own', 'own'])
          if (vendor === 'responses') expect(memory.thinking).toBe(3)
          if (vendor === 'responses' && driver.knowsSignatures)
            expect(memory.signatures).toEqual(['own', 'own', 'own'])
          if (vendor === 'messages' && driver.knowsSignatures) {
            expect(memory.signatures).toEqual(['own', 'own', 'own'])
            expect(memory.thinking).toBe(3)
          }
          // A lost thought ends the thinking in this loop, not the loop.
          if (vendor === 'messages' && !driver.knowsSignatures)
            expect([memory.signatures, memory.thinking]).toEqual([[], 1])
          // The stream helper of OpenAI's client keeps only the last piece of a member it does not know.
          if (
            vendor === 'chat' &&
            driver.knowsSignatures &&
            !(stream && driver.name === 'openai, chat completions')
          )
            expect([...new Set(memory.reasoning)]).toEqual([thought])
        })
  })

const orders = vendorIds.flatMap((first) =>
  vendorIds.flatMap((second) =>
    vendorIds.map((third) => [first, second, third] as const).filter(() => first !== second),
  ),
)

describe('a conversation that changes its vendor between turns', () => {
  test.each(orders)('%s, %s, %s: no vendor sees what another signed', async (...vendors) => {
    const client = new OpenAI({ apiKey: it.key, baseURL: it.baseURL, maxRetries: 0 })
    const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: prompt }]
    let text = ''
    for (const vendor of vendors as readonly VendorId[]) {
      const { choices } = await client.chat.completions.create({
        model: modelOf[vendor],
        messages,
        tools: chatTools,
        reasoning_effort: 'low',
      })
      const message = choices[0]!.message
      messages.push(message)
      text = message.content ?? ''
      for (const call of message.tool_calls ?? [])
        if (call.type === 'function')
          messages.push({ role: 'tool', tool_call_id: call.id, content: runTool(call.function.name) })
    }
    expect(text).toContain('sunny, 21 °C | 12:30')
    for (const vendor of vendorIds) expect(it.memories[vendor].refused).toEqual([])
  })
})

test.each(orders)('the same through the clients of the other dialects: %s, %s, %s', async (...order) => {
  const vendors = order as readonly VendorId[]
  const anthropic = new Anthropic({ apiKey: it.key, baseURL: it.baseURL.replace(/\/v1$/, ''), maxRetries: 0 })
  const google = new GoogleGenAI({
    apiKey: it.key,
    httpOptions: { baseUrl: it.baseURL.replace(/\/v1$/, '') },
  })
  const messages: Anthropic.MessageParam[] = [{ role: 'user', content: prompt }]
  const contents: Content[] = [{ role: 'user', parts: [{ text: prompt }] }]
  let text = ''
  let other = ''
  for (const vendor of vendors) {
    const model = modelOf[vendor]
    const { content } = await anthropic.messages
      .stream({
        model,
        messages,
        tools,
        max_tokens: 4_000,
        thinking: { type: 'enabled', budget_tokens: 2_000 },
      })
      .finalMessage()
    messages.push({ role: 'assistant', content })
    const uses = content.filter((block) => block.type === 'tool_use')
    const results = uses.map(({ id, name }) => ({
      type: 'tool_result' as const,
      tool_use_id: id,
      content: runTool(name),
    }))
    if (results.length > 0) messages.push({ role: 'user', content: results })
    text = content.map((block) => (block.type === 'text' ? block.text : '')).join('')
    const parts: Part[] = []
    const config = { tools: [{ functionDeclarations }], thinkingConfig: { includeThoughts: true } }
    for await (const piece of await google.models.generateContentStream({ model, contents, config }))
      parts.push(...(piece.candidates?.[0]?.content?.parts ?? []))
    contents.push({ role: 'model', parts })
    const responses = parts.flatMap(({ functionCall }) =>
      functionCall?.name === undefined
        ? []
        : [
            {
              functionResponse: {
                name: functionCall.name,
                response: { output: runTool(functionCall.name) },
              },
            },
          ],
    )
    if (responses.length > 0) contents.push({ role: 'user', parts: responses })
    other = parts.map(({ text: said }) => said ?? '').join('')
  }
  expect([vendors, text, other]).toEqual([
    vendors,
    expect.stringContaining('sunny, 21 °C | 12:30'),
    expect.stringContaining('sunny, 21 °C | 12:30'),
  ])
  for (const vendor of vendorIds) expect(it.memories[vendor].refused).toEqual([])
})

test('calls whose arguments come in turns reach the clients of other dialects one by one', async () => {
  // In its own dialect the bytes pass through, in whatever order the vendor sent them.
  for (const driver of drivers.filter(({ name }) => !/chat|compatible/.test(name))) {
    const client = driver.open({ baseURL: it.baseURL, key: it.key })
    const { rounds } = await client.loop({ model: modelOf.chat, prompt: 'All in turns.', stream: true })
    expect([driver.name, rounds as unknown]).toEqual([driver.name, [steps.flat()]])
  }
})

describe('models of the same vendors that are asked differently', () => {
  test.each(Object.values(otherModels))('%s: tools, structured output, reasoning', async (model) => {
    for (const driver of drivers) {
      const client = driver.open({ baseURL: it.baseURL, key: it.key })
      const { rounds } = await client.loop({ model, prompt, thinks: true, stream: true })
      expect([driver.name, rounds as unknown]).toEqual([driver.name, steps])
      expect([driver.name, await client.structured(model)]).toEqual([driver.name, { name: 'Ada', age: 36 }])
      const spoken = await client.say({ model, prompt: 'Hello.', thinks: true })
      expect(spoken.text).toContain('You said: Hello.')
    }
    for (const vendor of vendorIds) expect(it.memories[vendor].refused).toEqual([])
  })
})
