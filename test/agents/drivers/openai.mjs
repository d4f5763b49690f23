/** The openai package: chat completions, or responses with the argument `responses`. */
import OpenAI from 'openai'
import { count, model, prompt, run, tool, tryStep } from './step.mjs'

const client = new OpenAI({ maxRetries: 0 })
const argumentsOf = (text) => JSON.parse(text).command

const chat = {
  work: async () => {
    const messages = [{ role: 'user', content: prompt }]
    for (;;) {
      const tools = [{ type: 'function', function: tool }]
      const { choices, usage } = await client.chat.completions
        .stream({ model, messages, tools, stream_options: { include_usage: true } })
        .finalChatCompletion()
      const { message } = choices[0]
      count(usage.prompt_tokens, usage.completion_tokens)
      if (!message.tool_calls?.length) return message.content
      messages.push(message)
      for (const { id, function: called } of message.tool_calls)
        messages.push({
          role: 'tool',
          tool_call_id: id,
          content: tryStep(argumentsOf(called.arguments)).text,
        })
    }
  },
  wait: async (signal, leave) => {
    const tools = [{ type: 'function', function: tool }]
    const messages = [{ role: 'user', content: prompt }]
    const stream = await client.chat.completions.create({ model, messages, tools, stream: true }, { signal })
    for await (const { choices } of stream) if (choices[0]?.delta.content) leave()
  },
}

const responses = {
  work: async () => {
    const input = [{ role: 'user', content: prompt }]
    for (;;) {
      const tools = [{ type: 'function', ...tool, strict: true }]
      const response = await client.responses.stream({ model, input, tools, store: false }).finalResponse()
      count(response.usage.input_tokens, response.usage.output_tokens)
      const calls = response.output.filter(({ type }) => type === 'function_call')
      if (calls.length === 0)
        return response.output.flatMap(({ content }) => (content ?? []).map(({ text }) => text)).join('')
      // Members that the library adds for its user are not the server's.
      input.push(...response.output.map(({ parsed_arguments, ...item }) => item))
      for (const { call_id, arguments: text } of calls)
        input.push({ type: 'function_call_output', call_id, output: tryStep(argumentsOf(text)).text })
    }
  },
  wait: async (signal, leave) => {
    const tools = [{ type: 'function', ...tool, strict: true }]
    const stream = await client.responses.create(
      { model, input: prompt, tools, stream: true, store: false },
      { signal },
    )
    for await (const { type } of stream) if (type === 'response.output_text.delta') leave()
  },
}

await run(process.argv[2] === 'responses' ? responses : chat)
