/** The AI SDK over its four providers. */
import { createAnthropic } from '@ai-sdk/anthropic'
import { createGoogleGenerativeAI } from '@ai-sdk/google'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import {
  APICallError,
  generateText,
  jsonSchema,
  type LanguageModel,
  Output,
  stepCountIs,
  streamText,
  tool,
} from 'ai'
import {
  type Address,
  type Ask,
  type Driver,
  descriptions,
  personSchema,
  ROUNDS_MAX,
  runTool,
  type ToolName,
  toolParameters,
} from './driver.ts'

type Options = NonNullable<Parameters<typeof generateText>[0]['providerOptions']>
type Provider = {
  readonly name: string
  readonly package: string
  readonly model: (address: Address, id: string) => LanguageModel
  /** Asks for reasoning, in the provider's options. */
  readonly thinking: Options
  readonly knowsSignatures: boolean
  readonly cannot?: Driver['cannot']
  readonly note?: string
}

const toolFor = (name: ToolName) =>
  tool({
    description: descriptions[name],
    inputSchema: jsonSchema<Record<string, unknown>>(toolParameters[name]),
    execute: () => runTool(name),
  })
const tools = { get_weather: toolFor('get_weather'), get_time: toolFor('get_time') }

const messagesOf = ({ prompt, image }: Ask) => [
  {
    role: 'user' as const,
    content: [
      { type: 'text' as const, text: prompt },
      ...(image === undefined ? [] : [{ type: 'file' as const, data: image, mediaType: 'image/png' }]),
    ],
  },
]

const driver = (provider: Provider): Driver => ({
  name: provider.name,
  package: provider.package,
  knowsSignatures: provider.knowsSignatures,
  ...(provider.cannot === undefined ? {} : { cannot: provider.cannot }),
  ...(provider.note === undefined ? {} : { note: provider.note }),
  open: (address) => {
    const askedOf = (ask: Ask) => ({
      model: provider.model(address, ask.model),
      system: 'Be brief.',
      messages: messagesOf(ask),
      maxRetries: 0,
      maxOutputTokens: 8_000,
      providerOptions: ask.thinks === true ? provider.thinking : {},
    })
    const streamed = (asked: Parameters<typeof streamText>[0]) => {
      let failure: unknown
      const result = streamText({
        ...asked,
        onError: ({ error }) => {
          failure ??= error
        },
      })
      return {
        result,
        end: async () => {
          await result.consumeStream()
          if (failure !== undefined) throw failure
        },
      }
    }
    return {
      say: async (ask) => {
        if (ask.stream !== true) {
          const { text, reasoningText, usage } = await generateText(askedOf(ask))
          return { text, thinking: reasoningText ?? '', input: usage.inputTokens, output: usage.outputTokens }
        }
        const { result, end } = streamed(askedOf(ask))
        await end()
        const usage = await result.usage
        return {
          text: await result.text,
          thinking: (await result.reasoningText) ?? '',
          input: usage.inputTokens,
          output: usage.outputTokens,
        }
      },
      loop: async (ask) => {
        const asked = { ...askedOf(ask), tools, stopWhen: stepCountIs(ROUNDS_MAX) }
        let steps: readonly { readonly toolCalls: readonly { toolName: string; input: unknown }[] }[]
        let text: string
        if (ask.stream === true) {
          const { result, end } = streamed(asked)
          await end()
          steps = await result.steps
          text = await result.text
        } else {
          const result = await generateText(asked)
          steps = result.steps
          text = result.text
        }
        const rounds = steps
          .map(({ toolCalls }) => toolCalls.map(({ toolName, input }) => [toolName, input] as const))
          .filter((round) => round.length > 0)
        return { rounds, text }
      },
      structured: async (model) => {
        const { output } = await generateText({
          model: provider.model(address, model),
          prompt: 'Who is it?',
          maxRetries: 0,
          maxOutputTokens: 8_000,
          output: Output.object({ schema: personSchema }),
        })
        return output
      },
      statusOf: (error) => (APICallError.isInstance(error) ? error.statusCode : undefined),
    }
  },
})

const openai = ({ baseURL, key }: Address) => createOpenAI({ baseURL, apiKey: key })

const providers: readonly Provider[] = [
  {
    name: '@ai-sdk/openai, responses',
    package: '@ai-sdk/openai',
    model: (address: Address, id: string) => openai(address)(id),
    thinking: { openai: { reasoningEffort: 'low', reasoningSummary: 'auto', forceReasoning: true } },
    knowsSignatures: true,
  },
  {
    name: '@ai-sdk/openai, chat',
    package: '@ai-sdk/openai',
    model: (address: Address, id: string) => openai(address).chat(id),
    thinking: { openai: { reasoningEffort: 'low', forceReasoning: true } },
    knowsSignatures: false,
    cannot: { reasoning: 'The client reads no reasoning from chat completions.' },
  },
  {
    name: '@ai-sdk/openai-compatible',
    package: '@ai-sdk/openai-compatible',
    model: ({ baseURL, key }: Address, id: string) =>
      createOpenAICompatible({
        name: 'turnpike',
        baseURL,
        apiKey: key,
        includeUsage: true,
        supportsStructuredOutputs: true,
      })(id),
    thinking: { turnpike: { reasoningEffort: 'low' } },
    knowsSignatures: false,
  },
  {
    name: '@ai-sdk/anthropic',
    package: '@ai-sdk/anthropic',
    model: ({ baseURL, key }: Address, id: string) => createAnthropic({ baseURL, apiKey: key })(id),
    thinking: { anthropic: { thinking: { type: 'enabled', budgetTokens: 2_000 } } },
    knowsSignatures: true,
  },
  {
    name: '@ai-sdk/google',
    package: '@ai-sdk/google',
    model: ({ baseURL, key }: Address, id: string) =>
      createGoogleGenerativeAI({ baseURL: `${baseURL}beta`, apiKey: key })(id),
    thinking: { google: { thinkingConfig: { includeThoughts: true } } },
    knowsSignatures: true,
  },
]

export const aiSdkDrivers: readonly Driver[] = providers.map(driver)
