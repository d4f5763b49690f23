/** Cohere's chat, request → chat completions → neutral form. Source of the format: npm cohere-ai 8.1.0, `V2ChatRequest`. */
import { type Json, type JsonObject, present } from '../../core/json-body.ts'
import { callsOver, conversationsOver } from '../over-chat.ts'
import { numberOf, objectOf, objectsOf, textOf } from '../request/json-members.ts'
import { cohereRequest } from './request.ts'

const description = () => cohereRequest

/** Reads and checks a body. */
export const decodeCohereCall = callsOver('cohere', description, ({ stream, max_tokens }) => {
  const maxOutput = numberOf(max_tokens)
  return present({ stream: stream === true, maxOutput })
})

/** Reads a body that `decodeCohereCall` has checked. */
export const readCohere = conversationsOver(description, (body) => {
  const thinking = objectOf(body.thinking)
  return present({
    messages: objectsOf(body.messages).map(messageOf),
    tools: body.strict_tools === true ? objectsOf(body.tools).map(strict) : body.tools,
    tool_choice: textOf(body.tool_choice)?.toLowerCase(),
    response_format: formatOf(objectOf(body.response_format)),
    max_tokens: body.max_tokens,
    stop: body.stop_sequences,
    temperature: body.temperature,
    top_p: body.p,
    // Here 0 says that there is no such bound.
    top_k: body.k === 0 ? undefined : body.k,
    seed: body.seed,
    frequency_penalty: body.frequency_penalty,
    presence_penalty: body.presence_penalty,
    reasoning:
      thinking.type === undefined
        ? undefined
        : present({ enabled: thinking.type === 'enabled', max_tokens: thinking.token_budget }),
  })
})

const strict = (tool: JsonObject): JsonObject => ({
  ...tool,
  function: { ...objectOf(tool.function), strict: true },
})

const formatOf = ({ type, json_schema }: JsonObject): JsonObject | undefined => {
  if (type !== 'json_object') return undefined
  return json_schema === undefined || json_schema === null
    ? { type }
    : { type: 'json_schema', json_schema: { name: 'answer', schema: json_schema } }
}

/** A plan is what the model said before its calls. */
const messageOf = ({ tool_plan, ...message }: JsonObject): JsonObject => {
  const { content } = message
  const parts =
    typeof content === 'string' ? [{ type: 'text', text: content }] : objectsOf(content).map(partOf)
  const plan = textOf(tool_plan) ? [{ type: 'text', text: tool_plan }] : []
  return { ...message, content: [...plan, ...parts] }
}

/** A document in a tool's result is its text. */
const partOf = (part: JsonObject): JsonObject => {
  if (part.type !== 'document') return part
  const { data }: { data?: Json } = objectOf(part.document)
  return { type: 'text', text: typeof data === 'string' ? data : JSON.stringify(data ?? {}) }
}
