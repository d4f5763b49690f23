/** The @anthropic-ai/claude-agent-sdk package, which brings the program of Claude Code. */
import { query } from '@anthropic-ai/claude-agent-sdk'
import { count, deed, model, prompt, run } from './step.mjs'

const ask = (abortController) =>
  query({
    prompt,
    options: {
      model,
      allowedTools: ['Bash'],
      includePartialMessages: true,
      ...(abortController && { abortController }),
    },
  })

const work = async () => {
  let result
  for await (const message of ask()) if (message.type === 'result') result = message
  if (result.is_error) throw new Error(result.result ?? JSON.stringify(result))
  for (const one of Object.values(result.modelUsage))
    count(one.inputTokens + one.cacheReadInputTokens + one.cacheCreationInputTokens, one.outputTokens)
  return result.result
}

const wait = async (_signal, leave) => {
  const leaving = new AbortController()
  for await (const { type, event } of ask(leaving))
    if (type === 'stream_event' && event.type === 'content_block_delta') {
      leave()
      leaving.abort()
    }
}

await run({ work, wait })
// The package keeps the process for what it watches.
process.exit(deed === 'fail' ? 1 : 0)
