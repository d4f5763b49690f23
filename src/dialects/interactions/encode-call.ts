/** Interactions, neutral form → request for a vendor. Source of the format: npm @google/genai 3.3.0, `CreateModelInteraction`. */
import { type JsonObject, present } from '../../core/json-body.ts'
import { Refusal } from '../../core/refusal.ts'
import { levelsOf } from '../gemini/encode-call.ts'
import type {
  Conversation,
  Format,
  Part,
  Reasoning,
  ToolCall,
  ToolChoice,
  ToolResult,
  Turn,
} from '../neutral.ts'
import { effortOf, nearestEffort } from '../translate/reasoning.ts'
import { pastArguments } from '../translate/tool-arguments.ts'
import { arrangeTexts, toolNames } from '../translate/turns.ts'
import { type Encoded, refuseUnsupported, type Target } from '../translate/vendor-call.ts'
import { contentOf, stepsOf } from './reply.ts'

/** Writes the conversation for a vendor of this dialect, which is to store nothing of it. */
export const writeInteractionsCall = (it: Conversation, to: Target): Encoded | Refusal => {
  if (it.choices > 1) return refuseUnsupported('n', 'more than one answer to a call')
  const arranged = arrangeTexts(it, isOwn)
  if (arranged instanceof Refusal) return arranged
  const { system, turns, notCarried } = arranged
  const names = toolNames(it)
  const instructions = system.flatMap((part) => (part.type === 'text' ? [part.text] : []))
  const body: JsonObject = present({
    model: to.model.upstreamName,
    system_instruction: instructions.length === 0 ? undefined : instructions.join('\n\n'),
    input: turns.flatMap((turn) => stepsOfTurn(turn, names)),
    tools:
      it.tools.length === 0
        ? undefined
        : it.tools.map(({ name, description, parameters }) =>
            present({ type: 'function', name, description, parameters }),
          ),
    generation_config: configOf(it, to, notCarried),
    response_format: formatOf(it.format),
    response_modalities: it.makes === undefined ? undefined : ['text', ...it.makes],
    service_tier: to.model.cheaper?.tier,
    store: false,
    stream: to.stream ? true : undefined,
  })
  return { body, notCarried }
}

/** Whether the vendor made the thought or the signature itself. */
const isOwn = (part: Part): boolean => 'signature' in part && part.signature?.origin === 'gemini'

const configOf = (it: Conversation, to: Target, notCarried: string[]): JsonObject | undefined => {
  const config = present({
    temperature: it.temperature,
    top_p: it.topP,
    seed: it.seed,
    stop_sequences: it.stop.length === 0 ? undefined : it.stop,
    max_output_tokens: to.outputBound ?? it.maxOutput,
    tool_choice: it.tools.length === 0 ? undefined : choiceOf(it.toolChoice),
    ...thinkingOf(it.reasoning, to, notCarried),
  })
  return Object.keys(config).length === 0 ? undefined : config
}

const thinkingOf = (reasoning: Reasoning | undefined, to: Target, notCarried: string[]): JsonObject => {
  if (reasoning === undefined) return {}
  // No level turns thinking off.
  if (reasoning.effort === 'none') notCarried.push('reasoning')
  if (!to.model.capabilities.includes('reasoning')) {
    if (reasoning.effort !== 'none') notCarried.push('reasoning')
    return {}
  }
  const effort = effortOf(reasoning)
  return present({
    thinking_level: effort && nearestEffort(effort, levelsOf(to.model.upstreamName)),
    thinking_summaries: reasoning.show === true && effort !== 'none' ? 'auto' : undefined,
  })
}

const modes = { auto: 'auto', none: 'none', required: 'any' } as const

const choiceOf = (choice: ToolChoice | undefined): JsonObject | string | undefined => {
  if (choice === undefined) return undefined
  return choice.type === 'named'
    ? { allowed_tools: { mode: 'any', tools: [choice.name] } }
    : modes[choice.type]
}

const formatOf = (format: Format | undefined): JsonObject | undefined => {
  if (format === undefined) return undefined
  const json = { type: 'text', mime_type: 'application/json' }
  return format.type === 'json' ? json : { ...json, schema: format.schema }
}

const stepsOfTurn = ({ role, parts }: Turn, names: ReadonlyMap<string, string>): readonly JsonObject[] => {
  if (role === 'assistant')
    return stepsOf(
      parts.filter((part) => part.type !== 'thinking' || isOwn(part)),
      undefined,
      callOf,
    )
  const results = parts.flatMap((part) => (part.type === 'tool_result' ? [resultOf(part, names)] : []))
  const content = contentsOf(parts)
  return content.length === 0 ? results : [...results, { type: 'user_input', content }]
}

const contentsOf = (parts: readonly Part[]): readonly JsonObject[] =>
  parts.map((part) => contentOf(part)).filter((content) => content !== undefined)

/** A call of an earlier turn, with the signature that it came with. */
const callOf = (call: ToolCall): JsonObject =>
  present({
    type: 'function_call',
    id: call.id,
    name: call.name,
    arguments: pastArguments(call),
    signature: isOwn(call) ? call.signature?.value : undefined,
  })

const resultOf = (
  { id, name, parts, failed }: ToolResult,
  names: ReadonlyMap<string, string>,
): JsonObject => {
  const isText = parts.every(({ type }) => type === 'text')
  const text = parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n')
  return present({
    type: 'function_result',
    call_id: id,
    name: name ?? names.get(id),
    result: isText ? text : contentsOf(parts),
    is_error: failed,
  })
}
