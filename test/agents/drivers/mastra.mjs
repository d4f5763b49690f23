/** The @mastra/core package: an agent with a model at an address of one's own. */
import { Agent } from '@mastra/core/agent'
import { createTool } from '@mastra/core/tools'
import { z } from 'zod'
import { count, model, prompt, run, runStep, tool } from './step.mjs'

const agent = new Agent({
  id: 'worker',
  name: 'Worker',
  instructions: 'Do the steps.',
  model: { id: `turnpike/${model}`, url: process.env.TURNPIKE_URL, apiKey: process.env.TURNPIKE_KEY },
  tools: {
    [tool.name]: createTool({
      id: tool.name,
      description: tool.description,
      inputSchema: z.object({ command: z.string() }),
      execute: async (given) => ({ said: runStep(given.command ?? given.context.command) }),
    }),
  },
  maxRetries: 0,
})

const start = (abortSignal) =>
  agent.stream(prompt, { maxSteps: 5, modelSettings: { maxRetries: 0 }, abortSignal })

const work = async () => {
  const answer = await start()
  let text = ''
  for await (const piece of answer.textStream) text += piece
  if (answer.error) throw answer.error
  const usage = await answer.totalUsage
  count(usage.inputTokens, usage.outputTokens)
  return text
}

const wait = async (signal, leave) => {
  const answer = await start(signal)
  for await (const piece of answer.textStream) if (piece !== '') leave()
}

await run({ work, wait })
