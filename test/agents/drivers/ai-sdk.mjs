/** The AI SDK with one of its providers: compatible, openai, anthropic or google. */
import { createAnthropic } from '@ai-sdk/anthropic'
import { createGoogleGenerativeAI } from '@ai-sdk/google'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { jsonSchema, stepCountIs, streamText, tool as toolOf } from 'ai'
import { count, model, prompt, run, runStep, tool } from './step.mjs'

const apiKey = process.env.TURNPIKE_KEY
const baseURL = process.env.TURNPIKE_URL
const models = {
  compatible: () => createOpenAICompatible({ name: 'turnpike', baseURL, apiKey, includeUsage: true })(model),
  openai: () => createOpenAI({ baseURL, apiKey })(model),
  anthropic: () => createAnthropic({ baseURL, apiKey })(model),
  google: () => createGoogleGenerativeAI({ baseURL: baseURL.replace(/v1$/, 'v1beta'), apiKey })(model),
}
const provider = process.argv[2]

const start = (abortSignal) => {
  let failure
  const answer = streamText({
    model: models[provider](),
    messages: [
      {
        role: 'user',
        content: prompt,
        providerOptions: { anthropic: { cacheControl: { type: 'ephemeral' } } },
      },
    ],
    ...(provider === 'openai' ? { providerOptions: { openai: { store: false } } } : {}),
    tools: {
      [tool.name]: toolOf({
        description: tool.description,
        inputSchema: jsonSchema(tool.parameters),
        execute: ({ command }) => runStep(command),
      }),
    },
    stopWhen: stepCountIs(5),
    maxRetries: 0,
    abortSignal,
    onError: ({ error }) => {
      failure = error
    },
  })
  return { answer, failed: () => failure }
}

const work = async () => {
  const { answer, failed } = start()
  let text = ''
  for await (const piece of answer.textStream) text += piece
  if (failed() !== undefined) throw failed()
  const usage = await answer.totalUsage
  count(usage.inputTokens, usage.outputTokens)
  return text
}

const wait = async (signal, leave) => {
  const { answer } = start(signal)
  for await (const piece of answer.textStream) if (piece !== '') leave()
}

await run({ work, wait })
