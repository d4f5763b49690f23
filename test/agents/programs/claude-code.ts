/** Claude Code. */
import type { Program } from './program.ts'

type Used = {
  inputTokens: number
  outputTokens: number
  cacheReadInputTokens: number
  cacheCreationInputTokens: number
}

export const claudeCode: Program = {
  name: 'claude-code',
  package: '@anthropic-ai/claude-code',
  sets: ['claude-code'],
  vendors: ['messages', 'chat', 'gemini'],
  speaks: 'messages',
  command: 'claude -p "$PROMPT" --output-format json --allowedTools Bash',
  run: (command) => ({ name: 'Bash', args: { command, description: 'Runs a step' } }),
  usageOf: (out) => {
    const { modelUsage } = JSON.parse(out) as { modelUsage: Record<string, Used> }
    const all = Object.values(modelUsage)
    const sum = (of: (one: Used) => number) => all.reduce((total, one) => total + of(one), 0)
    return {
      input: sum((one) => one.inputTokens + one.cacheReadInputTokens + one.cacheCreationInputTokens),
      output: sum((one) => one.outputTokens),
    }
  },
}
