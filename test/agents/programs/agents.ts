/** The coding agents, each with the flags that let it work without questions. */
import type { Program } from './program.ts'

type ClaudeUsed = {
  inputTokens: number
  outputTokens: number
  cacheReadInputTokens: number
  cacheCreationInputTokens: number
}

const claudeUsage = (out: string) => {
  const { modelUsage } = JSON.parse(out) as { modelUsage: Record<string, ClaudeUsed> }
  const all = Object.values(modelUsage)
  const sum = (of: (one: ClaudeUsed) => number) => all.reduce((total, one) => total + of(one), 0)
  return {
    input: sum((one) => one.inputTokens + one.cacheReadInputTokens + one.cacheCreationInputTokens),
    output: sum((one) => one.outputTokens),
  }
}

/** Codex prints events, one a line; the last of a turn has the usage. */
const codexUsage = (out: string) => {
  const last = out.split('\n').findLast((line) => line.includes('"turn.completed"')) ?? '{}'
  const { usage } = JSON.parse(last) as { usage: { input_tokens: number; output_tokens: number } }
  return { input: usage.input_tokens, output: usage.output_tokens }
}

type GeminiUsed = { tokens: { prompt: number; candidates: number } }

const geminiUsage = (out: string) => {
  const { stats } = JSON.parse(out.slice(out.indexOf('{'))) as {
    stats: { models: Record<string, GeminiUsed> }
  }
  const all = Object.values(stats.models)
  return {
    input: all.reduce((sum, { tokens }) => sum + tokens.prompt, 0),
    output: all.reduce((sum, { tokens }) => sum + tokens.candidates, 0),
  }
}

export const agents: readonly Program[] = [
  {
    name: 'claude-code',
    package: '@anthropic-ai/claude-code',
    sets: ['claude-code'],
    vendors: ['messages', 'chat', 'gemini'],
    speaks: 'messages',
    command: 'claude -p "$PROMPT" --output-format json --allowedTools Bash',
    run: (command) => ({ name: 'Bash', args: { command, description: 'Runs a step' } }),
    usageOf: claudeUsage,
  },
  {
    name: 'codex',
    package: '@openai/codex',
    sets: ['codex'],
    vendors: ['chat', 'messages', 'gemini'],
    speaks: 'responses',
    command: 'codex exec --skip-git-repo-check --dangerously-bypass-approvals-and-sandbox --json "$PROMPT"',
    run: (cmd) => ({ name: 'exec_command', args: { cmd, yield_time_ms: 5_000 } }),
    usageOf: codexUsage,
  },
  {
    name: 'codex-socket',
    package: '@openai/codex',
    sets: ['codex'],
    vendors: ['chat', 'messages', 'gemini', 'chat-only'],
    speaks: 'responses',
    command: 'codex exec --skip-git-repo-check --dangerously-bypass-approvals-and-sandbox --json "$PROMPT"',
    run: (cmd) => ({ name: 'exec_command', args: { cmd, yield_time_ms: 5_000 } }),
    usageOf: codexUsage,
    socket: 'new items',
  },
  {
    name: 'gemini-cli',
    package: '@google/gemini-cli',
    sets: ['gemini-cli'],
    vendors: ['gemini', 'chat', 'messages'],
    speaks: 'gemini',
    command: 'gemini --skip-trust --yolo -m "$MODEL" -p "$PROMPT" -o json',
    run: (command) => ({ name: 'run_shell_command', args: { command } }),
    usageOf: geminiUsage,
  },
  {
    name: 'opencode',
    package: 'opencode-ai',
    sets: ['opencode'],
    vendors: ['chat', 'messages', 'gemini'],
    speaks: 'chat',
    command: 'opencode run -m "turnpike/$MODEL" --auto "$PROMPT"',
    run: (command) => ({ name: 'bash', args: { command, description: 'Runs a step' } }),
  },
  {
    name: 'qwen-code',
    package: '@qwen-code/qwen-code',
    sets: ['qwen-code'],
    vendors: ['chat', 'messages', 'gemini'],
    speaks: 'chat',
    command: 'qwen --auth-type openai --yolo "$PROMPT"',
    run: (command) => ({ name: 'run_shell_command', args: { command } }),
  },
  {
    name: 'cline',
    package: 'cline',
    sets: ['cline'],
    vendors: ['chat', 'messages', 'gemini'],
    speaks: 'chat',
    command: 'cline "$PROMPT"',
    run: (command) => ({ name: 'run_commands', args: { commands: [command] } }),
    after: 'cline hub stop',
  },
  {
    name: 'continue',
    package: '@continuedev/cli',
    sets: ['continue'],
    vendors: ['chat', 'messages', 'gemini'],
    speaks: 'chat',
    command: 'cn --config ~/.continue/config.yaml --auto -p "$PROMPT"',
    run: (command) => ({ name: 'Bash', args: { command } }),
  },
  {
    name: 'pi',
    package: '@earendil-works/pi-coding-agent',
    sets: ['pi'],
    vendors: ['chat', 'messages', 'gemini'],
    speaks: 'chat',
    command: 'pi -p --provider turnpike --model "$MODEL" "$PROMPT"',
    run: (command) => ({ name: 'bash', args: { command } }),
  },
]
