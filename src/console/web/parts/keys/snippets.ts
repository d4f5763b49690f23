/** Ready snippets for a new key: paste one to make the first call. */

type Snippet = { readonly name: string; readonly text: string }

/** Snippets that call `model` with `key` at the gateway's address. */
export const snippetsFor = (origin: string, key: string, model: string): readonly Snippet[] => [
  {
    name: 'curl',
    text: `curl ${origin}/v1/chat/completions \\
  -H 'Authorization: Bearer ${key}' \\
  -H 'Content-Type: application/json' \\
  -d '{"model":"${model}","messages":[{"role":"user","content":"Hello"}]}'`,
  },
  {
    name: 'openai',
    text: `import OpenAI from 'openai'

const client = new OpenAI({ baseURL: '${origin}/v1', apiKey: '${key}' })
const { data, response } = await client.chat.completions
  .create({ model: '${model}', messages: [{ role: 'user', content: 'Hello' }] })
  .withResponse()
console.log(data.choices[0].message.content, response.headers.get('x-cost-usd'))`,
  },
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
