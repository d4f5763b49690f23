/** LangChain with one of its models: openai, anthropic or google. */
import { ChatAnthropic } from '@langchain/anthropic'
import { HumanMessage, ToolMessage } from '@langchain/core/messages'
import { ChatGoogleGenerativeAI } from '@langchain/google-genai'
import { ChatOpenAI } from '@langchain/openai'
import { count, model, prompt, run, tool, tryStep } from './step.mjs'

const apiKey = process.env.TURNPIKE_KEY
const baseURL = process.env.TURNPIKE_URL
const provider = process.argv[2]
const models = {
  openai: () => new ChatOpenAI({ model, apiKey, configuration: { baseURL }, maxRetries: 0 }),
  anthropic: () =>
    new ChatAnthropic({
      model,
      apiKey,
      anthropicApiUrl: new URL(baseURL).origin,
      maxTokens: 1_000,
      maxRetries: 0,
    }),
  google: () =>
    new ChatGoogleGenerativeAI({ model, apiKey, baseUrl: new URL(baseURL).origin, maxRetries: 0 }),
}
const bound = models[provider]().bindTools([{ type: 'function', function: tool }])
const cached = provider === 'anthropic' ? { cache_control: { type: 'ephemeral' } } : {}
const first = new HumanMessage({ content: [{ type: 'text', text: prompt, ...cached }] })

const work = async () => {
  const messages = [first]
  for (;;) {
    let answer
    for await (const piece of await bound.stream(messages)) answer = answer?.concat(piece) ?? piece
    if (provider === 'openai') count(answer.usage_metadata.input_tokens, answer.usage_metadata.output_tokens)
    if (!answer.tool_calls?.length)
      return typeof answer.content === 'string'
        ? answer.content
        : answer.content.map(({ text }) => text ?? '').join('')
    messages.push(answer)
    for (const { id, name, args } of answer.tool_calls) {
      const { text, failed } = tryStep(args.command)
      messages.push(
        new ToolMessage({ content: text, tool_call_id: id, name, status: failed ? 'error' : 'success' }),
      )
    }
  }
}

const wait = async (signal, leave) => {
  for await (const { content } of await bound.stream([first], { signal })) if (content.length > 0) leave()
}

await run({ work, wait })
