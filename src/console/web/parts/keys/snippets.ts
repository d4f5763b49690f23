/** Ready snippets for a new key: paste one to make the first call. */

import { type Program, programsFor } from '../play/programs.ts'

/** Snippets that call `model` with `key` at the gateway's address. */
export const snippetsFor = (origin: string, key: string, model: string): readonly Program[] => [
  ...programsFor(origin, key, { model, messages: [{ role: 'user', content: 'Hello' }] }),
  {
    name: 'anthropic',
    text: `import Anthropic from '@anthropic-ai/sdk'

const client = new Anthropic({ baseURL: '${origin}', apiKey: '${key}' })
const message = await client.messages.create({
  model: '${model}',
  max_tokens: 256,
  messages: [{ role: 'user', content: 'Hello' }],
})
console.log(message.content)`,
  },
  {
    name: 'genai',
    text: `import { GoogleGenAI } from '@google/genai'

const client = new GoogleGenAI({ apiKey: '${key}', httpOptions: { baseUrl: '${origin}' } })
const answer = await client.models.generateContent({ model: '${model}', contents: 'Hello' })
console.log(answer.text)`,
  },
  {
    name: 'AI SDK',
    text: `import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { generateText } from 'ai'

const turnpike = createOpenAICompatible({ name: 'turnpike', baseURL: '${origin}/v1', apiKey: '${key}' })
const { text } = await generateText({ model: turnpike('${model}'), prompt: 'Hello' })
console.log(text)`,
  },
  {
    name: 'Agents',
    text: `export OPENAI_BASE_URL=${origin}/v1
export OPENAI_API_KEY=${key}
export ANTHROPIC_BASE_URL=${origin}
export ANTHROPIC_AUTH_TOKEN=${key}`,
  },
]
