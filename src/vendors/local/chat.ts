/**
 * The built-in chat model: deterministic, not an AI. It repeats what it was sent, respects bounds and stop sequences,
 * calls the tools it is asked to call, and fills in JSON schemas, so that clients can be tried without a vendor.
 */
import { isObject, type Json, type JsonObject } from '../../core/json-body.ts'
import { invalid, refuse } from '../../core/refusal.ts'
import { exampleValue, newAllowance } from './example-value.ts'
import { CONTEXT_TOKENS, OUTPUT_TOKENS } from './local.ts'
import { countTokens, firstTokens } from './words.ts'

type LocalTool = { readonly id: string; readonly name: string; readonly arguments: string }

export type LocalAnswer = {
  readonly text: string
  /** How many tokens the text has. */
  readonly tokens: number
  readonly tools: readonly LocalTool[]
  readonly finish: 'stop' | 'length' | 'tool_calls'
}

export type LocalReply = {
  /** The text of every choice: the model is deterministic. */
  readonly answer: LocalAnswer
  readonly choices: number
  readonly promptTokens: number
  readonly completionTokens: number
}

/** The most that one call may ask for, so that no caller keeps the others waiting. */
const CHOICES_MAX = 8
const TOOLS_MAX = 128
const STOPS_MAX = 16
const STOP_LETTERS_MAX = 256

/** Answers a chat-completions body, in time linear in its length. Throws the Refusal when it asks for too much. */
export const answerLocally = (body: JsonObject): LocalReply => {
  const messages = Array.isArray(body.messages) ? body.messages.filter(isObject) : []
  const choices = typeof body.n === 'number' ? body.n : 1
  if (choices > CHOICES_MAX) throw invalid('n', `'n' may be at most ${CHOICES_MAX} for the built-in model.`)
  const promptTokens = countPrompt(body, messages)
  const answer = answerOnce(body, messages)
  return { answer, choices, promptTokens, completionTokens: choices * tokensIn(answer) }
}

const answerOnce = (body: JsonObject, messages: readonly JsonObject[]): LocalAnswer => {
  const last = messages.at(-1)
  const said = textOf(last?.content)
  const tools = last?.role === 'tool' ? [] : toolsToCall(body, said)
  if (tools.length > 0) return { text: '', tokens: 0, tools, finish: 'tool_calls' }
  const whole = format(
    body.response_format,
    last?.role === 'tool' ? `The tool answered: ${said}` : `You said: ${said}`,
    said,
  )
  const bound = body.max_completion_tokens ?? body.max_tokens
  const most = Math.min(typeof bound === 'number' ? bound : OUTPUT_TOKENS, OUTPUT_TOKENS)
  const { text, tokens, cut } = firstTokens(whole, most)
  const stopped = untilStop(text, stopsOf(body.stop))
  return stopped === text
    ? { text, tokens, tools: [], finish: cut ? 'length' : 'stop' }
    : { ...firstTokens(stopped, most), tools: [], finish: 'stop' }
}

const format = (requested: Json | undefined, text: string, said: string): string => {
  if (!isObject(requested)) return text
  if (requested.type === 'json_schema' && isObject(requested.json_schema))
    return JSON.stringify(exampleValue(requested.json_schema.schema, said, newAllowance('response_format')))
  return requested.type === 'json_object' ? JSON.stringify({ text }) : text
}

const stopsOf = (stop: Json | undefined): readonly string[] => {
  const stops = (Array.isArray(stop) ? stop : [stop]).filter(
    (one): one is string => typeof one === 'string' && one !== '',
  )
  if (stops.length > STOPS_MAX || stops.some((one) => one.length > STOP_LETTERS_MAX))
    throw invalid(
      'stop',
      `'stop' may hold at most ${STOPS_MAX} sequences of ${STOP_LETTERS_MAX} letters for the built-in model.`,
    )
  return stops
}

const untilStop = (text: string, stops: readonly string[]): string => {
  const ends = stops.map((stop) => text.indexOf(stop)).filter((at) => at >= 0)
  return ends.length === 0 ? text : text.slice(0, Math.min(...ends))
}

/** Tools that the last message names as a word, or that `tool_choice` forces. */
const toolsToCall = (body: JsonObject, said: string): readonly LocalTool[] => {
  const offered = offeredTools(body)
  const { forced, none, required } = choiceOf(body)
  if (none || offered.length === 0) return []
  const wanted = new Set(forced === undefined ? said.match(/[\p{L}\p{N}_-]+/gu) : [forced])
  const named = offered.filter(({ name }) => wanted.has(name))
  const called = named.length === 0 && required ? offered.slice(0, 1) : named
  const most = body.parallel_tool_calls === false ? called.slice(0, 1) : called
  const left = newAllowance('tools')
  return most.map(({ name, parameters }, index) => ({
    id: `call_local_${index}`,
    name,
    arguments: JSON.stringify(exampleValue(parameters ?? { type: 'object' }, said, left)),
  }))
}

type Offered = { readonly name: string; readonly parameters: Json | undefined }

const offeredTools = (body: JsonObject): readonly Offered[] => {
  const tools = Array.isArray(body.tools) ? body.tools.filter(isObject).map((tool) => tool.function) : []
  const functions = Array.isArray(body.functions) ? body.functions : []
  if (tools.length + functions.length > TOOLS_MAX)
    throw invalid('tools', `'tools' may hold at most ${TOOLS_MAX} tools for the built-in model.`)
  return [...tools, ...functions]
    .filter(isObject)
    .flatMap((one) => (typeof one.name === 'string' ? [{ name: one.name, parameters: one.parameters }] : []))
}

const choiceOf = (body: JsonObject) => {
  const choice = body.tool_choice ?? body.function_call
  const inner = isObject(choice) && isObject(choice.function) ? choice.function : choice
  const forced = isObject(inner) && typeof inner.name === 'string' ? inner.name : undefined
  return { forced, none: choice === 'none', required: choice === 'required' || choice === 'any' }
}

const tokensIn = (answer: LocalAnswer): number =>
  answer.tokens +
  answer.tools.reduce((sum, tool) => sum + countTokens(tool.name) + countTokens(tool.arguments), 0)

/** Every message costs its text plus three tokens; tools and formats cost their JSON. */
const countPrompt = (body: JsonObject, messages: readonly JsonObject[]): number => {
  let tokens = 0
  const add = (text: string, around = 0) => {
    tokens += around + countTokens(text, CONTEXT_TOKENS + 1)
    if (tokens > CONTEXT_TOKENS)
      throw refuse(
        'context_length_exceeded',
        `The messages, tools and formats have more than the ${CONTEXT_TOKENS} tokens of the built-in model's context.`,
      )
  }
  for (const message of messages) {
    add(textOf(message.content), 3)
    if (message.tool_calls !== undefined && message.tool_calls !== null)
      add(JSON.stringify(message.tool_calls))
  }
  for (const extra of [body.tools, body.functions, body.response_format])
    if (extra !== undefined && extra !== null) add(JSON.stringify(extra))
  return tokens
}

const textOf = (content: Json | undefined): string => {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return content
    .map((part) =>
      isObject(part) ? (typeof part.text === 'string' ? part.text : `[${String(part.type)}]`) : '',
    )
    .join('')
}
