/** The client libraries, each with the driver that runs a session with it. */
import type { VendorId } from '../vendor-host.ts'
import type { Program } from './program.ts'

/** What every driver prints last. */
const driverUsage = (out: string) => JSON.parse(/^USED (.*)$/m.exec(out)?.[1] ?? '{}')

type Library = Pick<Program, 'name' | 'package' | 'sets' | 'speaks' | 'vendors'> &
  Partial<Program> & { readonly driver: string }

const library = ({ driver, ...rest }: Library): Program => ({
  driver: driver.split(' ')[0] ?? driver,
  command: `node ${driver}`,
  run: (command) => ({ name: 'run_step', args: { command } }),
  hangsUp: true,
  usageOf: driverUsage,
  ...rest,
})

const everywhere: readonly VendorId[] = ['chat', 'messages', 'gemini']
const first = (own: VendorId): readonly VendorId[] => [own, ...everywhere.filter((id) => id !== own)]

const aiSets = ['ai-sdk-7', 'ai-sdk-6', 'ai-sdk-5']
const langchainSets = ['langchain-1', 'langchain-0.3']

export const libraries: readonly Program[] = [
  {
    name: 'openai',
    package: 'openai',
    sets: ['openai-7', 'openai-6', 'openai-5'],
    speaks: 'chat' as const,
    vendors: everywhere,
    driver: 'openai.mjs',
  },
  {
    name: 'openai',
    variant: 'responses',
    package: 'openai',
    sets: ['openai-7', 'openai-6', 'openai-5'],
    speaks: 'responses' as const,
    vendors: everywhere,
    driver: 'openai.mjs responses',
  },
  {
    name: 'openai',
    variant: 'socket',
    package: 'openai',
    sets: ['openai-7'],
    speaks: 'responses' as const,
    vendors: [...everywhere, 'chat-only' as const],
    driver: 'openai-socket.mjs',
    socket: 'new items' as const,
  },
  {
    name: 'anthropic-sdk',
    package: '@anthropic-ai/sdk',
    sets: ['anthropic-1', 'anthropic-0.137', 'anthropic-0.60'],
    speaks: 'messages' as const,
    vendors: first('messages'),
    driver: 'anthropic.mjs',
  },
  {
    name: 'google-genai',
    package: '@google/genai',
    sets: ['genai-3', 'genai-2', 'genai-1'],
    speaks: 'gemini' as const,
    vendors: first('gemini'),
    driver: 'genai.mjs',
  },
  ...(
    [
      ['compatible', '@ai-sdk/openai-compatible', 'chat', 'chat'],
      ['openai', '@ai-sdk/openai', 'responses', 'chat'],
      ['anthropic', '@ai-sdk/anthropic', 'messages', 'messages'],
      ['google', '@ai-sdk/google', 'gemini', 'gemini'],
    ] as const
  ).map(([variant, name, speaks, own]) => ({
    name: 'ai-sdk',
    variant,
    package: name,
    sets: aiSets,
    speaks,
    vendors: first(own),
    driver: `ai-sdk.mjs ${variant}`,
    // Its major versions disagree whether tokens from the cache are part of the input.
    ...(variant === 'anthropic' ? { usageOf: undefined } : {}),
  })),
  ...(
    [
      ['openai', '@langchain/openai', 'chat', 'chat'],
      ['anthropic', '@langchain/anthropic', 'messages', 'messages'],
      ['google', '@langchain/google-genai', 'gemini', 'gemini'],
    ] as const
  ).map(([variant, name, speaks, own]) => ({
    name: 'langchain',
    variant,
    package: name,
    // @langchain/anthropic 0.3 sends -1 for what is not set, which the present models' reference refuses.
    sets: variant === 'anthropic' ? ['langchain-1'] : langchainSets,
    speaks,
    vendors: first(own),
    driver: `langchain.mjs ${variant}`,
    // It adds up the counts of a stream's first event and of its last, see docs/compatibility.md.
    ...(variant === 'openai' ? {} : { usageOf: undefined }),
  })),
  {
    name: 'openai-agents',
    package: '@openai/agents',
    sets: ['openai-agents'],
    speaks: 'responses' as const,
    vendors: everywhere,
    driver: 'openai-agents.mjs',
  },
  {
    name: 'openai-agents',
    variant: 'socket',
    package: '@openai/agents',
    sets: ['openai-agents'],
    speaks: 'responses' as const,
    vendors: [...everywhere, 'chat-only' as const],
    driver: 'openai-agents.mjs socket',
    socket: 'all items' as const,
    cannot: { error: 'Over its socket it tells its user that a request failed, and not why.' },
  },
  {
    name: 'claude-agent-sdk',
    package: '@anthropic-ai/claude-agent-sdk',
    sets: ['claude-agent-sdk'],
    speaks: 'messages' as const,
    vendors: first('messages'),
    driver: 'claude-agent-sdk.mjs',
    run: (command: string) => ({ name: 'Bash', args: { command, description: 'Runs a step' } }),
  },
  {
    name: 'mastra',
    package: '@mastra/core',
    sets: ['mastra-1'],
    speaks: 'chat' as const,
    vendors: everywhere,
    driver: 'mastra.mjs',
    // It does not ask for the usage of a stream from a custom address.
    usageOf: undefined,
  },
].map(library)
