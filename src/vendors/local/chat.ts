/**
 * The built-in chat model: deterministic, not an AI. It repeats what it was told, keeps to bounds and stop sequences,
 * calls the tools it is asked to call, and fills in JSON schemas; so that clients can be tried without a vendor.
 */
import { isObject, type Json, type JsonObject } from '../../core/json-body.ts'
import { exampleValue } from './example-value.ts'
import { countTokens, tokensOf } from './words.ts'

type LocalTool = { readonly id: string; readonly name: string; readonly arguments: string }

export type LocalAnswer = {
  /** The text in tokens. */
  readonly text: readonly string[]
  readonly tools: readonly LocalTool[]
  readonly finish: 'stop' | 'length' | 'tool_calls'
}

export type LocalReply = {
  readonly answers: readonly LocalAnswer[]
  readonly promptTokens: number
  readonly completionTokens: number
}

/** Answers a chat-completions body. */
export const answerLocally = (body: JsonObject): LocalReply => {
  const messages = Array.isArray(body.messages) ? body.messages.filter(isObject) : []
  const choices = typeof body.n === 'number' ? body.n : 1
  const answers = Array.from({ length: choices }, () => answerOnce(body, messages))
  return {
    answers,
    promptTokens: countPrompt(body, messages),
    completionTokens: answers.reduce((sum, answer) => sum + tokensIn(answer), 0),
  }
}

const answerOnce = (body: JsonObject, messages: readonly JsonObject[]): LocalAnswer => {
  const last = messages.at(-1)
  const said = textOf(last?.content)
  const tools = last?.role === 'tool' ? [] : toolsToCall(body, said)
  if (tools.length > 0) return { text: [], tools, finish: 'tool_calls' }
  const text = format(
    body.response_format,
    last?.role === 'tool' ? `The tool answered: ${said}` : `You said: ${said}`,
    said,
  )
  const stopped = untilStop(text, body.stop)
  const tokens = tokensOf(stopped)
  const bound = body.max_completion_tokens ?? body.max_tokens
  const most = typeof bound === 'number' ? bound : Number.POSITIVE_INFINITY
  return tokens.length > most
    ? { text: tokens.slice(0, most), tools: [], finish: 'length' }
    : { text: tokens, tools: [], finish: 'stop' }
}

const format = (asked: Json | undefined, text: string, said: string): string => {
  if (!isObject(asked)) return text
  if (asked.type === 'json_schema' && isObject(asked.json_schema))
    return JSON.stringify(exampleValue(asked.json_schema.schema, said))
  return asked.type === 'json_object' ? JSON.stringify({ text }) : text
}

const untilStop = (text: string, stop: Json | undefined): string => {
  const sequences = (Array.isArray(stop) ? stop : [stop]).filter(
    (one): one is string => typeof one === 'string' && one !== '',
  )
  const ends = sequences.map((sequence) => text.indexOf(sequence)).filter((at) => at >= 0)
  return ends.length === 0 ? text : text.slice(0, Math.min(...ends))
}

/** Tools whose name the last message says, or that `tool_choice` forces. */
const toolsToCall = (body: JsonObject, said: string): readonly LocalTool[] => {
  const offered = offeredTools(body)
  const { forced, none, required } = choiceOf(body)
  if (none) return []
  const named = offered.filter(({ name }) => name === forced || (forced === undefined && said.includes(name)))
  const called = named.length === 0 && required ? offered.slice(0, 1) : named
  const most = body.parallel_tool_calls === false ? called.slice(0, 1) : called
  return most.map(({ name, parameters }, index) => ({
    id: `call_local_${index}`,
    name,
    arguments: JSON.stringify(exampleValue(parameters ?? { type: 'object' }, said)),
  }))
}

type Offered = { readonly name: string; readonly parameters: Json | undefined }

const offeredTools = (body: JsonObject): readonly Offered[] => {
  const tools = Array.isArray(body.tools) ? body.tools.filter(isObject).map((tool) => tool.function) : []
  const functions = Array.isArray(body.functions) ? body.functions : []
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
  answer.text.length +
  answer.tools.reduce((sum, tool) => sum + countTokens(tool.name) + countTokens(tool.arguments), 0)

/** Every message costs its text and three tokens around it; tools and formats cost their JSON. */
const countPrompt = (body: JsonObject, messages: readonly JsonObject[]): number => {
  const spoken = messages.reduce(
    (sum, message) => sum + 3 + countTokens(textOf(message.content)) + countCalls(message),
    0,
  )
  const extras = [body.tools, body.functions, body.response_format].filter(
    (one) => one !== undefined && one !== null,
  )
  return spoken + extras.reduce<number>((sum, extra) => sum + countTokens(JSON.stringify(extra)), 0)
}

const countCalls = (message: JsonObject): number =>
  message.tool_calls === undefined || message.tool_calls === null
    ? 0
    : countTokens(JSON.stringify(message.tool_calls))

const textOf = (content: Json | undefined): string => {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return content
    .map((part) =>
      isObject(part) ? (typeof part.text === 'string' ? part.text : `[${String(part.type)}]`) : '',
    )
    .join('')
}
