/** OpenAI's own client: chat completions and responses. */
import OpenAI from 'openai'
import { zodResponseFormat, zodTextFormat } from 'openai/helpers/zod'
import {
  type Ask,
  type Called,
  type Client,
  collect,
  type Driver,
  descriptions,
  personSchema,
  ROUNDS_MAX,
  runTool,
  toolNames,
  toolParameters,
} from './driver.ts'

type Messages = OpenAI.ChatCompletionMessageParam[]

export const chatTools: OpenAI.ChatCompletionTool[] = toolNames.map((name) => ({
  type: 'function',
  function: { name, description: descriptions[name], parameters: toolParameters[name], strict: true },
}))

const firstMessages = ({ prompt, image }: Ask): Messages => [
  { role: 'system', content: 'Be brief.' },
  {
    role: 'user',
    content:
      image === undefined
        ? prompt
        : [
            { type: 'text', text: prompt },
            { type: 'image_url', image_url: { url: `data:image/png;base64,${image}` } },
          ],
  },
]

const statusOf = (error: unknown) => (error instanceof OpenAI.APIError ? error.status : undefined)

/** Reasoning in chat completions: a member that the client's types do not know but the client keeps. */
type Reasons = { reasoning_content?: string }

const chat = (client: OpenAI): Client => {
  const effort = ({ thinks }: Ask) => (thinks === true ? { reasoning_effort: 'low' as const } : {})
  return {
    say: async (ask) => {
      const asked = { model: ask.model, messages: firstMessages(ask), ...effort(ask) }
      if (ask.stream !== true) {
        const { choices, usage } = await client.chat.completions.create(asked)
        const message = choices[0]?.message
        return {
          text: message?.content ?? '',
          thinking: (message as Reasons | undefined)?.reasoning_content ?? '',
          input: usage?.prompt_tokens,
          output: usage?.completion_tokens,
        }
      }
      const answer = { text: '', thinking: '', input: undefined, output: undefined }
      const stream = await client.chat.completions.create({
        ...asked,
        stream: true,
        stream_options: { include_usage: true },
      })
      await collect(stream, ({ choices, usage }) => {
        answer.text += choices[0]?.delta.content ?? ''
        answer.thinking += (choices[0]?.delta as Reasons | undefined)?.reasoning_content ?? ''
        if (usage) Object.assign(answer, { input: usage.prompt_tokens, output: usage.completion_tokens })
      })
      return answer
    },
    loop: async (ask) => {
      const messages = firstMessages(ask)
      const rounds: Called[][] = []
      for (;;) {
        const asked = { model: ask.model, messages, tools: chatTools, ...effort(ask) }
        const completion =
          ask.stream === true
            ? await client.chat.completions.stream(asked).finalChatCompletion()
            : await client.chat.completions.create(asked)
        const message = completion.choices[0]!.message
        const calls = (message.tool_calls ?? []).filter((call) => call.type === 'function')
        if (calls.length === 0 || rounds.length > ROUNDS_MAX) return { rounds, text: message.content ?? '' }
        rounds.push(calls.map(({ function: called }) => [called.name, JSON.parse(called.arguments)]))
        messages.push(message)
        for (const call of calls)
          messages.push({ role: 'tool', tool_call_id: call.id, content: runTool(call.function.name) })
      }
    },
    structured: async (model) => {
      const { choices } = await client.chat.completions.parse({
        model,
        messages: [{ role: 'user', content: 'Who is it?' }],
        response_format: zodResponseFormat(personSchema, 'person'),
      })
      return choices[0]?.message.parsed
    },
    statusOf,
  }
}

type Input = OpenAI.Responses.ResponseInputItem[]

const responseTools: OpenAI.Responses.Tool[] = toolNames.map((name) => ({
  type: 'function',
  name,
  description: descriptions[name],
  parameters: toolParameters[name],
  strict: true,
}))

const responses = (client: OpenAI): Client => {
  const askedOf = (ask: Ask, input: Input) => ({
    model: ask.model,
    input,
    instructions: 'Be brief.',
    store: false,
    ...(ask.thinks === true
      ? {
          reasoning: { effort: 'low' as const, summary: 'auto' as const },
          include: ['reasoning.encrypted_content' as const],
        }
      : {}),
  })
  const firstInput = ({ prompt, image }: Ask): Input => [
    {
      role: 'user',
      content: [
        { type: 'input_text', text: prompt },
        ...(image === undefined
          ? []
          : [
              {
                type: 'input_image' as const,
                image_url: `data:image/png;base64,${image}`,
                detail: 'auto' as const,
              },
            ]),
      ],
    },
  ]
  const thinkingOf = (response: OpenAI.Responses.Response) =>
    response.output
      .flatMap((item) => (item.type === 'reasoning' ? item.summary.map(({ text }) => text) : []))
      .join('')
  const create = (ask: Ask, input: Input, tools?: OpenAI.Responses.Tool[]) => {
    const asked = { ...askedOf(ask, input), ...(tools === undefined ? {} : { tools }) }
    return ask.stream === true
      ? client.responses.stream(asked).finalResponse()
      : client.responses.create({ ...asked, stream: false })
  }
  return {
    say: async (ask) => {
      const response = await create(ask, firstInput(ask))
      return {
        text: response.output_text,
        thinking: thinkingOf(response),
        input: response.usage?.input_tokens,
        output: response.usage?.output_tokens,
      }
    },
    loop: async (ask) => {
      const input = firstInput(ask)
      const rounds: Called[][] = []
      for (;;) {
        const response = await create(ask, input, responseTools)
        const calls = (response.output as OpenAI.Responses.ResponseOutputItem[]).filter(
          (item): item is OpenAI.Responses.ResponseFunctionToolCall => item.type === 'function_call',
        )
        if (calls.length === 0 || rounds.length > ROUNDS_MAX) return { rounds, text: response.output_text }
        rounds.push(calls.map(({ name, arguments: args }) => [name, JSON.parse(args)]))
        input.push(...(response.output as Input))
        for (const { call_id, name } of calls)
          input.push({ type: 'function_call_output', call_id, output: runTool(name) })
      }
    },
    structured: async (model) =>
      (
        await client.responses.parse({
          model,
          input: 'Who is it?',
          text: { format: zodTextFormat(personSchema, 'person') },
        })
      ).output_parsed,
    compact: async (model) => {
      const { output } = await client.responses.compact({ model, input: 'My name is Ada.' })
      const left = output as Input
      const { output_text } = await create({ model, prompt: '' }, [
        ...left,
        { role: 'user', content: 'Go on.' },
      ])
      return { left: left.map(({ type }) => type ?? 'message'), text: output_text }
    },
    statusOf,
  }
}

const clientFor = ({ baseURL, key }: { baseURL: string; key: string }) =>
  new OpenAI({ apiKey: key, baseURL, maxRetries: 0 })

export const openaiDrivers: readonly Driver[] = [
  {
    name: 'openai, chat completions',
    package: 'openai',
    open: (address) => chat(clientFor(address)),
    knowsSignatures: true,
  },
  {
    name: 'openai, responses',
    package: 'openai',
    compacts: true,
    open: (address) => responses(clientFor(address)),
    knowsSignatures: true,
  },
]
