/** Ollama's own client, which knows no ids of calls. */
import { type ChatResponse, type Message, Ollama } from 'ollama'
import { z } from 'zod'
import {
  type Ask,
  type Called,
  collect,
  type Driver,
  descriptions,
  personSchema,
  ROUNDS_MAX,
  runTool,
  toolNames,
  toolParameters,
} from './driver.ts'

const tools = toolNames.map((name) => ({
  type: 'function',
  function: { name, description: descriptions[name], parameters: toolParameters[name] as object },
}))

export const openOllama = ({ baseURL, key }: { readonly baseURL: string; readonly key: string }) =>
  new Ollama({ host: baseURL.replace(/\/v1$/, ''), headers: { authorization: `Bearer ${key}` } })

const first = ({ prompt, image }: Ask): Message => ({
  role: 'user',
  content: prompt,
  ...(image === undefined ? {} : { images: [image] }),
})

/** The message that the lines of a stream make up, with the counts of the last one. */
const gathered = async (stream: AsyncIterable<ChatResponse>): Promise<ChatResponse> => {
  const message: Message = { role: 'assistant', content: '' }
  let last: ChatResponse | undefined
  await collect(stream, (line) => {
    message.content += line.message.content
    if (line.message.thinking) message.thinking = (message.thinking ?? '') + line.message.thinking
    if (line.message.tool_calls)
      message.tool_calls = [...(message.tool_calls ?? []), ...line.message.tool_calls]
    last = line
  })
  if (last?.done !== true) throw new Error('the stream broke off')
  return { ...last, message }
}

export const ollamaDrivers: readonly Driver[] = [
  {
    name: 'ollama',
    package: 'ollama',
    knowsSignatures: false,
    open: (address) => {
      const client = openOllama(address)
      const answer = async (ask: Ask, messages: Message[], more: object = {}): Promise<ChatResponse> => {
        const asked = {
          model: ask.model,
          messages: [{ role: 'system', content: 'Be brief.' }, ...messages],
          ...(ask.thinks === true ? { think: true } : {}),
          ...more,
        }
        return ask.stream === true
          ? gathered(await client.chat({ ...asked, stream: true }))
          : client.chat({ ...asked, stream: false })
      }
      return {
        say: async (ask) => {
          const { message, prompt_eval_count, eval_count } = await answer(ask, [first(ask)])
          return {
            text: message.content,
            thinking: message.thinking ?? '',
            input: prompt_eval_count,
            output: eval_count,
          }
        },
        loop: async (ask) => {
          const messages: Message[] = [first(ask)]
          const rounds: Called[][] = []
          for (;;) {
            const { message } = await answer(ask, messages, { tools })
            const calls = message.tool_calls ?? []
            if (calls.length === 0 || rounds.length > ROUNDS_MAX) return { rounds, text: message.content }
            rounds.push(calls.map(({ function: it }) => [it.name, it.arguments]))
            messages.push(
              message,
              ...calls.map(({ function: { name } }) => ({
                role: 'tool',
                tool_name: name,
                content: runTool(name),
              })),
            )
          }
        },
        structured: async (model) => {
          const { message } = await client.chat({
            model,
            messages: [{ role: 'user', content: 'Who is it?' }],
            format: z.toJSONSchema(personSchema),
          })
          return JSON.parse(message.content)
        },
        statusOf: (error: any) => error?.status_code,
      }
    },
  },
]
