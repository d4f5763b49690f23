/** The @openai/agents package, with its own loop of tools; over its socket with the argument `socket`. */
import {
  Agent,
  run as runAgent,
  setTracingDisabled,
  tool as toolOf,
  withResponsesWebSocketSession,
} from '@openai/agents'
import { count, model, prompt, run, runStep, tool } from './step.mjs'

setTracingDisabled(true)
const agent = new Agent({
  name: 'Worker',
  instructions: 'Do the steps.',
  model,
  modelSettings: { store: false },
  tools: [
    toolOf({
      name: tool.name,
      description: tool.description,
      parameters: tool.parameters,
      strict: true,
      execute: ({ command }) => runStep(command),
      errorFunction: (_context, error) => error.message,
    }),
  ],
})

/** Runs with the function that runs an agent. */
const within = (use) =>
  process.argv[2] === 'socket' ? withResponsesWebSocketSession(({ run }) => use(run)) : use(runAgent)

const work = () =>
  within(async (runAgent) => {
    const answer = await runAgent(agent, prompt, { stream: true, maxTurns: 50 })
    await answer.completed
    if (answer.error) throw answer.error
    for (const { usage } of answer.rawResponses) count(usage.inputTokens, usage.outputTokens)
    return answer.finalOutput
  })

const wait = (signal, leave) =>
  within(async (runAgent) => {
    const answer = await runAgent(agent, prompt, { stream: true, signal })
    for await (const piece of answer.toTextStream()) if (piece !== '') leave()
  })

await run({ work, wait })
