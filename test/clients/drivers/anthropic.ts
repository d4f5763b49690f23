/** Anthropic's own client: create and the stream helper. */
import Anthropic from '@anthropic-ai/sdk'
import { zodOutputFormat } from '@anthropic-ai/sdk/helpers/zod'
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

export const tools: Anthropic.Tool[] = toolNames.map((name) => ({
  name,
  description: descriptions[name],
  input_schema: toolParameters[name],
}))

const first = ({ prompt, image }: Ask): Anthropic.MessageParam[] => [
  {
    role: 'user',
    content: [
      ...(image === undefined
        ? []
        : [
            {
              type: 'image' as const,
              source: { type: 'base64' as const, media_type: 'image/png' as const, data: image },
            },
          ]),
      { type: 'text', text: prompt },
    ],
  },
]

export const anthropicDrivers: readonly Driver[] = [
  {
    name: '@anthropic-ai/sdk',
    package: '@anthropic-ai/sdk',
    compacts: true,
    knowsSignatures: true,
    open: ({ baseURL, key }) => {
      const client = new Anthropic({ apiKey: key, baseURL: baseURL.replace(/\/v1$/, ''), maxRetries: 0 })
      const create = (ask: Ask, messages: Anthropic.MessageParam[], more: object = {}) => {
        const asked = {
          model: ask.model,
          max_tokens: 4_000,
          system: 'Be brief.',
          messages,
          ...(ask.thinks === true ? { thinking: { type: 'enabled' as const, budget_tokens: 2_000 } } : {}),
          ...more,
        }
        return ask.stream === true
          ? client.messages.stream(asked).finalMessage()
          : client.messages.create(asked)
      }
      return {
        say: async (ask) => {
          const { content, usage } = await create(ask, first(ask))
          return {
            text: content.map((block) => (block.type === 'text' ? block.text : '')).join(''),
            thinking: content.map((block) => (block.type === 'thinking' ? block.thinking : '')).join(''),
            input: usage.input_tokens,
            output: usage.output_tokens,
          }
        },
        loop: async (ask) => {
          const messages = first(ask)
          const rounds: Called[][] = []
          for (;;) {
            const { content } = await create(ask, messages, { tools })
            const calls = content.filter((block) => block.type === 'tool_use')
            if (calls.length === 0 || rounds.length > ROUNDS_MAX)
              return { rounds, text: content.map((one) => (one.type === 'text' ? one.text : '')).join('') }
            rounds.push(calls.map(({ name, input }) => [name, input]))
            messages.push(
              { role: 'assistant', content },
              {
                role: 'user',
                content: calls.map(({ id, name }) => ({
                  type: 'tool_result',
                  tool_use_id: id,
                  content: runTool(name),
                })),
              },
            )
          }
        },
        structured: async (model) => {
          const { parsed_output } = await client.messages.parse({
            model,
            max_tokens: 1_000,
            messages: [{ role: 'user', content: 'Who is it?' }],
            output_config: { format: zodOutputFormat(personSchema) },
          })
          return parsed_output
        },
        compact: async (model) => {
          const asked = { model, max_tokens: 1_000, betas: ['compact-2026-09-04'] }
          const { content } = await client.beta.messages.create({
            ...asked,
            messages: [{ role: 'user', content: 'My name is Ada.' }],
            compaction: { type: 'summarize' },
          })
          const next = await client.beta.messages.create({
            ...asked,
            messages: [
              { role: 'assistant', content },
              { role: 'user', content: 'Go on.' },
            ],
          })
          const text = next.content.map((block) => (block.type === 'text' ? block.text : '')).join('')
          return { left: content.map(({ type }) => type), text }
        },
        statusOf: (error) => (error instanceof Anthropic.APIError ? error.status : undefined),
      }
    },
  },
]
