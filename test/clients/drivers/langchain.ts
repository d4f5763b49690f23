/** LangChain's two chat models. */
import { ChatAnthropic } from '@langchain/anthropic'
import type { BaseChatModel } from '@langchain/core/language_models/chat_models'
import {
  type AIMessage,
  type AIMessageChunk,
  type BaseMessage,
  HumanMessage,
  SystemMessage,
  ToolMessage,
} from '@langchain/core/messages'
import { ChatOpenAI } from '@langchain/openai'
import {
  type Address,
  type Ask,
  type Called,
  type Driver,
  descriptions,
  personSchema,
  ROUNDS_MAX,
  runTool,
  toolNames,
  toolParameters,
} from './driver.ts'

type Library = {
  readonly name: string
  readonly package: string
  readonly model: (address: Address, ask: { model: string; thinks?: boolean }) => BaseChatModel
  readonly knowsSignatures: boolean
  readonly more?: Partial<Driver>
}

const tools = toolNames.map((name) => ({
  type: 'function' as const,
  function: { name, description: descriptions[name], parameters: toolParameters[name] },
}))

const first = ({ prompt, image }: Ask): BaseMessage[] => [
  new SystemMessage('Be brief.'),
  new HumanMessage({
    content: [
      { type: 'text', text: prompt },
      ...(image === undefined
        ? []
        : [{ type: 'image_url', image_url: { url: `data:image/png;base64,${image}` } }]),
    ],
  }),
]

/** Reasoning wherever the library puts it. */
const thinkingOf = (message: AIMessage | AIMessageChunk): string =>
  message.contentBlocks.map((block) => (block.type === 'reasoning' ? String(block.reasoning) : '')).join('')

const usageOf = (message: object) =>
  (message as { usage_metadata?: { input_tokens: number; output_tokens: number } }).usage_metadata

const driver = (library: Library): Driver => ({
  name: library.name,
  package: library.package,
  knowsSignatures: library.knowsSignatures,
  ...library.more,
  open: (address) => {
    const ask1 = async (
      model: Pick<BaseChatModel, 'invoke' | 'stream'>,
      ask: Ask,
      messages: BaseMessage[],
    ): Promise<AIMessage | AIMessageChunk> => {
      if (ask.stream !== true) return model.invoke(messages)
      let whole: AIMessageChunk | undefined
      for await (const piece of await model.stream(messages))
        whole = whole === undefined ? piece : whole.concat(piece)
      return whole!
    }
    return {
      say: async (ask) => {
        const message = await ask1(library.model(address, ask), ask, first(ask))
        return {
          text: message.text,
          thinking: thinkingOf(message),
          input: usageOf(message)?.input_tokens,
          output: usageOf(message)?.output_tokens,
        }
      },
      loop: async (ask) => {
        const model = library.model(address, ask).bindTools!(tools)
        const messages = first(ask)
        const rounds: Called[][] = []
        for (;;) {
          const message = await ask1(model as never, ask, messages)
          const calls = message.tool_calls ?? []
          if (calls.length === 0 || rounds.length > ROUNDS_MAX) return { rounds, text: message.text }
          rounds.push(calls.map(({ name, args }) => [name, args]))
          messages.push(message)
          for (const { id, name } of calls)
            messages.push(new ToolMessage({ tool_call_id: id ?? '', name, content: runTool(name) }))
        }
      },
      structured: async (model) =>
        library.model(address, { model }).withStructuredOutput(personSchema).invoke('Who is it?'),
      statusOf: (error) => (error as { status?: number } | undefined)?.status,
    }
  },
})

const openai = ({ baseURL, key }: Address, model: string, more: object) =>
  new ChatOpenAI({ model, apiKey: key, configuration: { baseURL }, maxRetries: 0, ...more })

const libraries: readonly Library[] = [
  {
    name: '@langchain/openai, chat',
    package: '@langchain/openai',
    model: (address: Address, { model, thinks }: { model: string; thinks?: boolean }) =>
      openai(address, model, thinks === true ? { modelKwargs: { reasoning_effort: 'low' } } : {}),
    knowsSignatures: false,
    more: { cannot: { reasoning: 'The client reads no reasoning from chat completions.' } },
  },
  {
    name: '@langchain/openai, responses',
    package: '@langchain/openai',
    model: (address: Address, { model, thinks }: { model: string; thinks?: boolean }) =>
      openai(address, model, {
        useResponsesApi: true,
        zdrEnabled: true,
        ...(thinks === true ? { modelKwargs: { reasoning: { effort: 'low', summary: 'auto' } } } : {}),
      }),
    knowsSignatures: true,
  },
  {
    name: '@langchain/anthropic',
    package: '@langchain/anthropic',
    model: ({ baseURL, key }: Address, { model, thinks }: { model: string; thinks?: boolean }) =>
      new ChatAnthropic({
        model,
        apiKey: key,
        anthropicApiUrl: baseURL.replace(/\/v1$/, ''),
        maxTokens: 8_000,
        maxRetries: 0,
        ...(thinks === true ? { thinking: { type: 'enabled', budget_tokens: 2_000 } } : {}),
      }),
    knowsSignatures: true,
    more: {
      miscountsStreams: true,
      note: 'We do not check its counts of a stream: it adds those of the first event to those of the last, and takes the input from the first, where it is an estimate unless the vendor counts it early.',
    },
  },
]

export const langchainDrivers: readonly Driver[] = libraries.map(driver)
