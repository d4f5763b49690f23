/** The @anthropic-ai/sdk package: messages, with marks for the cache on the prompt. */
import Anthropic from '@anthropic-ai/sdk'
import { count, model, prompt, run, tool, tryStep } from './step.mjs'

const client = new Anthropic({ maxRetries: 0 })
const tools = [{ name: tool.name, description: tool.description, input_schema: tool.parameters }]
const first = {
  role: 'user',
  content: [{ type: 'text', text: prompt, cache_control: { type: 'ephemeral' } }],
}

const work = async () => {
  const messages = [first]
  for (;;) {
    const { content, usage } = await client.messages
      .stream({ model, max_tokens: 1_000, messages, tools })
      .finalMessage()
    count(
      usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens,
      usage.output_tokens,
    )
    const calls = content.filter(({ type }) => type === 'tool_use')
    if (calls.length === 0) return content.map(({ text }) => text ?? '').join('')
    messages.push({ role: 'assistant', content })
    messages.push({
      role: 'user',
      content: calls.map(({ id, input }) => {
        const { text, failed } = tryStep(input.command)
        return { type: 'tool_result', tool_use_id: id, content: text, is_error: failed }
      }),
    })
  }
}

const wait = async (signal, leave) => {
  const stream = await client.messages.create(
    { model, max_tokens: 1_000, messages: [first], tools, stream: true },
    { signal },
  )
  for await (const { type } of stream) if (type === 'content_block_delta') leave()
}

await run({ work, wait })
