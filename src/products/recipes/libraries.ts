/** Recipes of client libraries. Sources: each library's own documentation of its addresses and keys. */
import type { Recipe, RecipeTarget } from './recipe.ts'

const hello = 'Say hello.'

type Library = Omit<Recipe, 'fill' | 'install'> & {
  readonly packages: readonly string[]
  readonly variables: (place: RecipeTarget) => readonly string[]
  readonly program: (model: string) => readonly string[]
}

const library = ({ packages, variables, program, ...recipe }: Library): Recipe => ({
  ...recipe,
  install: `npm install ${packages.join(' ')}`,
  fill: (place) => ({
    variables: variables(place),
    files: [{ path: 'hello.mjs', language: 'js', text: program(place.model).join('\n') }],
    first: 'node hello.mjs',
  }),
})

/** Variables that belong to no library; the example's program reads them. */
const ownVariables = ({ address, key }: RecipeTarget) => [
  `export TURNPIKE_URL=${address}/v1`,
  `export TURNPIKE_KEY=${key}`,
]
const openaiVariables = ({ address, key }: RecipeTarget) => [
  `export OPENAI_BASE_URL=${address}/v1`,
  `export OPENAI_API_KEY=${key}`,
]
const anthropicVariables = ({ address, key }: RecipeTarget) => [
  `export ANTHROPIC_BASE_URL=${address}`,
  `export ANTHROPIC_API_KEY=${key}`,
]

const ofVendors: readonly Library[] = [
  {
    name: 'openai',
    title: 'openai (JavaScript)',
    packages: ['openai'],
    calls: '/v1/chat/completions',
    model: 'openai/gpt-4.1',
    variables: openaiVariables,
    program: (model) => [
      "import OpenAI from 'openai'",
      '',
      'const client = new OpenAI()',
      'const answer = await client.chat.completions.create({',
      `  model: '${model}',`,
      `  messages: [{ role: 'user', content: '${hello}' }],`,
      '})',
      'console.log(answer.choices[0].message.content)',
    ],
    notes: ['`client.responses` works alike, with `store: false` where a later turn sends items back.'],
  },
  {
    name: 'anthropic-sdk',
    title: '@anthropic-ai/sdk',
    packages: ['@anthropic-ai/sdk'],
    calls: '/v1/messages',
    model: 'anthropic/claude-sonnet-4-6',
    variables: anthropicVariables,
    program: (model) => [
      "import Anthropic from '@anthropic-ai/sdk'",
      '',
      'const client = new Anthropic()',
      'const answer = await client.messages.create({',
      `  model: '${model}',`,
      '  max_tokens: 1000,',
      `  messages: [{ role: 'user', content: '${hello}' }],`,
      '})',
      'console.log(answer.content[0].text)',
    ],
  },
  {
    name: 'google-genai',
    title: '@google/genai',
    packages: ['@google/genai'],
    calls: '/v1beta/models',
    model: 'google/gemini-2.5-flash',
    variables: ({ address, key }) => [
      `export GOOGLE_GEMINI_BASE_URL=${address}`,
      `export GEMINI_API_KEY=${key}`,
    ],
    program: (model) => [
      "import { GoogleGenAI } from '@google/genai'",
      '',
      'const client = new GoogleGenAI({',
      '  apiKey: process.env.GEMINI_API_KEY,',
      '  httpOptions: { baseUrl: process.env.GOOGLE_GEMINI_BASE_URL },',
      '})',
      `const answer = await client.models.generateContent({ model: '${model}', contents: '${hello}' })`,
      'console.log(answer.text)',
    ],
  },
]

const ofFrameworks: readonly Library[] = [
  {
    name: 'ai-sdk',
    title: 'AI SDK',
    packages: ['ai', '@ai-sdk/openai-compatible'],
    calls: '/v1/chat/completions',
    model: 'openai/gpt-4.1',
    variables: ownVariables,
    program: (model) => [
      "import { createOpenAICompatible } from '@ai-sdk/openai-compatible'",
      "import { generateText } from 'ai'",
      '',
      'const turnpike = createOpenAICompatible({',
      "  name: 'turnpike',",
      '  baseURL: process.env.TURNPIKE_URL,',
      '  apiKey: process.env.TURNPIKE_KEY,',
      '  includeUsage: true,',
      '})',
      `const { text } = await generateText({ model: turnpike('${model}'), prompt: '${hello}' })`,
      'console.log(text)',
    ],
    notes: [
      '`createAnthropic` takes the same `baseURL`, `createGoogleGenerativeAI` one that ends in `/v1beta`.',
      'The default of `createOpenAI` is responses: give it `providerOptions: { openai: { store: false } }`.',
    ],
  },
  {
    name: 'langchain',
    title: 'LangChain (JavaScript)',
    packages: ['@langchain/core', '@langchain/openai'],
    calls: '/v1/chat/completions',
    model: 'openai/gpt-4.1',
    variables: ownVariables,
    program: (model) => [
      "import { ChatOpenAI } from '@langchain/openai'",
      '',
      'const chat = new ChatOpenAI({',
      `  model: '${model}',`,
      '  apiKey: process.env.TURNPIKE_KEY,',
      '  configuration: { baseURL: process.env.TURNPIKE_URL },',
      '})',
      `console.log((await chat.invoke('${hello}')).content)`,
    ],
    notes: [
      '`ChatAnthropic` takes `anthropicApiUrl`, `ChatGoogleGenerativeAI` takes `baseUrl`, both without a path.',
    ],
  },
  {
    name: 'openai-agents',
    title: '@openai/agents',
    packages: ['@openai/agents'],
    calls: '/v1/responses',
    model: 'openai/gpt-4.1',
    variables: openaiVariables,
    program: (model) => [
      "import { Agent, run, setTracingDisabled } from '@openai/agents'",
      '',
      'setTracingDisabled(true)',
      'const agent = new Agent({',
      "  name: 'Greeter',",
      `  model: '${model}',`,
      '  modelSettings: { store: false },',
      '})',
      `console.log((await run(agent, '${hello}')).finalOutput)`,
    ],
    notes: ['Tracing is turned off since it would send the conversation to another server than this one.'],
  },
  {
    name: 'claude-agent-sdk',
    title: '@anthropic-ai/claude-agent-sdk',
    packages: ['@anthropic-ai/claude-agent-sdk'],
    calls: '/v1/messages',
    model: 'anthropic/claude-sonnet-4-6',
    variables: anthropicVariables,
    program: (model) => [
      "import { query } from '@anthropic-ai/claude-agent-sdk'",
      '',
      `for await (const message of query({ prompt: '${hello}', options: { model: '${model}' } }))`,
      "  if (message.type === 'result') console.log(message.result)",
    ],
  },
  {
    name: 'mastra',
    title: 'Mastra',
    packages: ['@mastra/core'],
    calls: '/v1/chat/completions',
    model: 'openai/gpt-4.1',
    variables: ownVariables,
    program: (model) => [
      "import { Agent } from '@mastra/core/agent'",
      '',
      'const agent = new Agent({',
      "  id: 'greeter',",
      "  name: 'Greeter',",
      "  instructions: 'Be brief.',",
      '  model: {',
      `    id: 'turnpike/${model}',`,
      '    url: process.env.TURNPIKE_URL,',
      '    apiKey: process.env.TURNPIKE_KEY,',
      '  },',
      '})',
      `console.log((await agent.generate('${hello}')).text)`,
    ],
  },
]

export const libraryRecipes: readonly Recipe[] = [...ofVendors, ...ofFrameworks].map(library)
