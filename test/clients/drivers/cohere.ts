/** Cohere's own client, whose messages go back as they came. */
import { type Cohere, CohereClient, CohereError } from 'cohere-ai'
import { z } from 'zod'
import {
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

const tools: Cohere.ToolV2[] = toolNames.map((name) => ({
  type: 'function',
  function: { name, description: descriptions[name], parameters: toolParameters[name] },
}))

export const openCohere = ({ baseURL, key }: { readonly baseURL: string; readonly key: string }) =>
  new CohereClient({ token: key, environment: baseURL.replace(/\/v1$/, ''), maxRetries: 0 })

const first = ({ prompt, image }: Ask): Cohere.ChatMessageV2 => ({
  role: 'user',
  content: [
    { type: 'text', text: prompt },
    ...(image === undefined
      ? []
      : [{ type: 'image_url' as const, imageUrl: { url: `data:image/png;base64,${image}` } }]),
  ],
})

type Answer = { readonly message: any; readonly usage: Cohere.Usage | undefined }

/** The message that the events of a stream make up, as the client's documentation puts them together. */
export const gathered = async (stream: AsyncIterable<Cohere.V2ChatStreamResponse>): Promise<Answer> => {
  const message: any = { role: 'assistant', content: [] }
  let end: Cohere.ChatMessageEndEventDelta | undefined
  for await (const event of stream) {
    const said: any = (event as any).delta?.message
    if (event.type === 'content-start') message.content.push({ ...said.content })
    if (event.type === 'content-delta')
      for (const [name, text] of Object.entries(said.content)) message.content.at(-1)[name] += text
    if (event.type === 'tool-call-start')
      message.toolCalls = [...(message.toolCalls ?? []), structuredClone(said.toolCalls)]
    if (event.type === 'tool-call-delta')
      message.toolCalls.at(-1).function.arguments += said.toolCalls.function.arguments
    if (event.type === 'citation-start') message.citations = [...(message.citations ?? []), said.citations]
    if (event.type === 'message-end') end = event.delta
  }
  if (end === undefined || end.error !== undefined) throw new Error(end?.error ?? 'the stream broke off')
  return { message, usage: end.usage }
}

const saidIn = ({ content = [] }: any, member: 'text' | 'thinking'): string =>
  content.map((part: any) => part[member] ?? '').join('')

export const cohereDrivers: readonly Driver[] = [
  {
    name: 'cohere-ai',
    package: 'cohere-ai',
    knowsSignatures: false,
    open: (address) => {
      const { v2 } = openCohere(address)
      const answer = async (
        ask: Ask,
        messages: Cohere.ChatMessageV2[],
        more: object = {},
      ): Promise<Answer> => {
        const asked = {
          model: ask.model,
          messages: [{ role: 'system' as const, content: 'Be brief.' }, ...messages],
          ...(ask.thinks === true ? { thinking: { type: 'enabled' as const } } : {}),
          ...more,
        }
        if (ask.stream === true) return gathered(await v2.chatStream(asked))
        const { message, usage } = await v2.chat(asked)
        return { message, usage }
      }
      return {
        say: async (ask) => {
          const { message, usage } = await answer(ask, [first(ask)])
          return {
            text: saidIn(message, 'text'),
            thinking: saidIn(message, 'thinking'),
            input: usage?.tokens?.inputTokens,
            output: usage?.tokens?.outputTokens,
          }
        },
        loop: async (ask) => {
          const messages: Cohere.ChatMessageV2[] = [first(ask)]
          const rounds: Called[][] = []
          for (;;) {
            const { message } = await answer(ask, messages, { tools })
            const calls: Cohere.ToolCallV2[] = message.toolCalls ?? []
            if (calls.length === 0 || rounds.length > ROUNDS_MAX)
              return { rounds, text: saidIn(message, 'text') }
            const named = calls.map(({ id, function: it }) => ({
              id,
              name: it?.name ?? '',
              args: JSON.parse(it?.arguments ?? ''),
            }))
            rounds.push(named.map(({ name, args }) => [name, args]))
            messages.push(
              message,
              ...named.map(({ id, name }) => ({
                role: 'tool' as const,
                toolCallId: id,
                content: [{ type: 'document' as const, document: { data: { answer: runTool(name) } } }],
              })),
            )
          }
        },
        structured: async (model) => {
          const { message } = await v2.chat({
            model,
            messages: [{ role: 'user', content: 'Who is it?' }],
            responseFormat: {
              type: 'json_object',
              jsonSchema: z.toJSONSchema(personSchema) as Record<string, unknown>,
            },
          })
          return JSON.parse(saidIn(message, 'text'))
        },
        statusOf: (error) => (error instanceof CohereError ? error.statusCode : undefined),
      }
    },
  },
]
