/** Google's own client in its newer style: interactions, whose steps go back as they came. */
import { GoogleGenAI, type Interactions } from '@google/genai'
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

const tools = toolNames.map((name) => ({
  type: 'function' as const,
  name,
  description: descriptions[name],
  parameters: toolParameters[name],
}))

const first = ({ prompt, image }: Ask): Interactions.Step => ({
  type: 'user_input',
  content: [
    { type: 'text', text: prompt },
    ...(image === undefined ? [] : [{ type: 'image' as const, data: image, mime_type: 'image/png' }]),
  ],
})

export const openGoogle = ({ baseURL, key }: { readonly baseURL: string; readonly key: string }) =>
  new GoogleGenAI({
    apiKey: key,
    httpOptions: { baseUrl: baseURL.replace(/\/v1$/, '') },
  })

/** The client repeats refused calls for half a minute unless it is told otherwise. */
export const once = { maxRetries: 0 } as const

type Answer = { readonly steps: readonly Interactions.Step[]; readonly usage: Interactions.Usage | undefined }

/** The steps of a stream, as the client's documentation gathers them. */
export const gathered = async (
  stream: AsyncIterable<Interactions.InteractionSSEEvent>,
): Promise<Answer & { id: string }> => {
  const steps: any[] = []
  let usage: Interactions.Usage | undefined
  let id = ''
  for await (const event of stream) {
    if (event.event_type === 'error')
      throw Object.assign(new Error((event as any).error?.message), { inStream: true })
    if (event.event_type === 'step.start') steps.push({ ...(event as any).step })
    if (event.event_type === 'step.delta') take(steps.at(-1), (event as any).delta)
    if (event.event_type === 'interaction.completed') {
      usage = (event as any).interaction.usage
      id = (event as any).interaction.id
    }
  }
  if (id === '') throw new Error('the stream broke off')
  for (const step of steps)
    if (typeof step.said === 'string') {
      step.arguments = JSON.parse(step.said)
      delete step.said
    }
  return { steps, usage, id }
}

const take = (step: any, delta: any): void => {
  if (delta.type === 'text') {
    step.content ??= [{ type: 'text', text: '' }]
    step.content[0].text += delta.text
  } else if (delta.type === 'thought_summary') {
    step.summary ??= [{ type: 'text', text: '' }]
    step.summary[0].text += delta.content.text
  } else if (delta.type === 'thought_signature') step.signature = delta.signature
  else if (delta.type === 'arguments_delta') step.said = (step.said ?? '') + delta.arguments
}

const textsIn = (steps: readonly any[], type: string, member: string): string =>
  steps
    .filter((step) => step.type === type)
    .flatMap((step) => step[member] ?? [])
    .map(({ text }) => text ?? '')
    .join('')

export const googleInteractionsDrivers: readonly Driver[] = [
  {
    name: '@google/genai, interactions',
    package: '@google/genai',
    knowsSignatures: true,
    open: (address) => {
      const client = openGoogle(address)
      const answer = async (
        ask: Ask,
        input: readonly Interactions.Step[],
        more: object = {},
      ): Promise<Answer> => {
        const asked = {
          model: ask.model,
          system_instruction: 'Be brief.',
          input: [...input],
          store: false,
          ...(ask.thinks === true
            ? { generation_config: { thinking_level: 'low' as const, thinking_summaries: 'auto' as const } }
            : {}),
          ...more,
        }
        if (ask.stream === true)
          return gathered(await client.interactions.create({ ...asked, stream: true }, once))
        const { steps, usage } = await client.interactions.create(asked, once)
        return { steps, usage }
      }
      return {
        say: async (ask) => {
          const { steps, usage } = await answer(ask, [first(ask)])
          return {
            text: textsIn(steps, 'model_output', 'content'),
            thinking: textsIn(steps, 'thought', 'summary'),
            input: usage?.total_input_tokens,
            output: (usage?.total_output_tokens ?? 0) + (usage?.total_thought_tokens ?? 0),
          }
        },
        loop: async (ask) => {
          const input: Interactions.Step[] = [first(ask)]
          const rounds: Called[][] = []
          for (;;) {
            const { steps } = await answer(ask, input, { tools })
            const calls = steps.filter((step): step is any => step.type === 'function_call')
            if (calls.length === 0 || rounds.length > ROUNDS_MAX)
              return { rounds, text: textsIn(steps, 'model_output', 'content') }
            rounds.push(calls.map((call) => [call.name, call.arguments]))
            input.push(
              ...steps,
              ...calls.map(({ id, name }): any => ({
                type: 'function_result',
                call_id: id,
                name,
                result: runTool(name),
              })),
            )
          }
        },
        structured: async (model) => {
          const { output_text } = await client.interactions.create({
            model,
            input: 'Who is it?',
            response_format: {
              type: 'text',
              mime_type: 'application/json',
              schema: z.toJSONSchema(personSchema) as Record<string, unknown>,
            },
          })
          return JSON.parse(output_text ?? '')
        },
        statusOf: (error: any) => error?.status ?? error?.statusCode,
      }
    },
  },
]
