/** Generate content, neutral form → request for a vendor. Source of the format: Gemini API reference, "models.generateContent". */

import { isObject, type Json, type JsonObject, parseJson, present } from '../../core/json-body.ts'
import type { Model } from '../../core/model.ts'
import type { Refusal } from '../../core/refusal.ts'
import type { Conversation, Effort, Media, Part, Reasoning, Thinking, ToolResult, Turn } from '../neutral.ts'
import { mediaTypeOf } from '../translate/media.ts'
import { budgetOf, effortOf, nearestEffort } from '../translate/reasoning.ts'
import { pastArguments } from '../translate/tool-arguments.ts'
import { arrange, toolNames } from '../translate/turns.ts'
import { AS_JSON, type Encoded, type Target } from '../translate/vendor-call.ts'
import { thoughtPart } from './reply.ts'

/** From this generation on, reasoning has levels instead of budgets, and calls without a signature are refused. */
const LEVELS = /gemini-(?:[3-9]|\d{2})/
/** What the vendor accepts in place of a signature that never existed. Source: Gemini API, "Thought signatures". */
const NO_SIGNATURE = 'skip_thought_signature_validator'

/** Writes the conversation for a vendor of this dialect. */
export const writeGeminiCall = (it: Conversation, to: Target): Encoded | Refusal => {
  const isOwn = (part: Part) => 'signature' in part && part.signature?.origin === 'gemini'
  const { system, turns, notCarried } = arrange(it, isOwn)
  const names = toolNames(it)
  const signs = LEVELS.test(to.model.upstreamName)
  const instructions = [...system, ...jsonInstruction(it, to)]
  const body: JsonObject = present({
    systemInstruction:
      instructions.length === 0 ? undefined : { parts: instructions.flatMap((part) => partsOf(part, names)) },
    contents: turns.map((turn, at) => contentOf(inOrder(turn, turns[at - 1]), names, signs)),
    ...toolMembers(it),
    generationConfig: configOf(it, to, notCarried),
    serviceTier: to.model.cheaper?.tier,
  })
  return { body, notCarried }
}

const configOf = (it: Conversation, to: Target, notCarried: string[]): JsonObject =>
  present({
    temperature: it.temperature,
    topP: it.topP,
    topK: it.topK,
    seed: it.seed,
    presencePenalty: it.presencePenalty,
    frequencyPenalty: it.frequencyPenalty,
    responseLogprobs: it.logprobs === undefined ? undefined : true,
    logprobs: it.logprobs === 0 ? undefined : it.logprobs,
    candidateCount: it.choices === 1 ? undefined : it.choices,
    maxOutputTokens: to.outputBound ?? it.maxOutput,
    stopSequences: it.stop.length === 0 ? undefined : it.stop,
    responseMimeType:
      it.format === undefined || noSchemaBesideTools(to.model, it) ? undefined : 'application/json',
    responseJsonSchema: it.format?.type === 'schema' ? it.format.schema : undefined,
    responseModalities:
      it.makes === undefined ? undefined : ['TEXT', ...it.makes.map((kind) => kind.toUpperCase())],
    thinkingConfig: thinkingOf(it.reasoning, to, notCarried),
  })

const thinkingOf = (
  reasoning: Reasoning | undefined,
  to: Target,
  notCarried: string[],
): JsonObject | undefined => {
  if (reasoning === undefined) return undefined
  if (!to.model.capabilities.includes('reasoning')) {
    if (reasoning.effort !== 'none') notCarried.push('reasoning')
    return undefined
  }
  const name = to.model.upstreamName
  const includeThoughts = reasoning.show === true && reasoning.effort !== 'none' ? true : undefined
  if (!LEVELS.test(name)) {
    const thinkingBudget = budgetWithin(name, budgetOf(reasoning))
    if (reasoning.effort === 'none' && thinkingBudget !== 0) notCarried.push('reasoning')
    return present({ thinkingBudget, includeThoughts })
  }
  // These models cannot turn thinking off.
  if (reasoning.effort === 'none') notCarried.push('reasoning')
  const effort = effortOf(reasoning)
  const thinkingLevel = effort === undefined ? undefined : nearestEffort(effort, levelsOf(name))
  return present({ thinkingLevel, includeThoughts })
}

/** The levels that a model knows. Source: Gemini API, "Thinking". */
export const levelsOf = (name: string): readonly Effort[] => {
  if (/gemini-3-pro/.test(name)) return ['low', 'high']
  return /gemini-3(?:\.1)?-flash/.test(name)
    ? ['minimal', 'low', 'medium', 'high']
    : ['low', 'medium', 'high']
}

/** Asks in words for a format that the vendor does not take beside tools. */
const jsonInstruction = (it: Conversation, to: Target): readonly Part[] =>
  it.format?.type === 'json' && noSchemaBesideTools(to.model, it) ? [{ type: 'text', text: AS_JSON }] : []

/** Models before levels give no structured answers beside tools. Source: Gemini API, "Structured outputs". */
export const noSchemaBesideTools = ({ upstreamName }: Model, { tools }: Conversation): boolean =>
  tools.length > 0 && !LEVELS.test(upstreamName)

/** What the models with budgets take; the larger ones cannot turn thinking off. Source: Gemini API, "Thinking". */
const budgetWithin = (name: string, budget: number | undefined): number | undefined => {
  if (budget === undefined) return undefined
  return name.includes('pro') ? Math.max(128, Math.min(budget, 32_768)) : Math.min(budget, 24_576)
}

const toolMembers = (it: Conversation): JsonObject => {
  if (it.tools.length === 0) return {}
  const choice = it.toolChoice
  const mode = { auto: 'AUTO', none: 'NONE', required: 'ANY', named: 'ANY' } as const
  return present({
    tools: [
      {
        functionDeclarations: it.tools.map(({ name, description, parameters }) =>
          present({ name, description, parametersJsonSchema: parameters }),
        ),
      },
    ],
    toolConfig:
      choice === undefined
        ? undefined
        : {
            functionCallingConfig: present({
              mode: mode[choice.type],
              allowedFunctionNames: choice.type === 'named' ? [choice.name] : undefined,
            }),
          },
  })
}

/** Results in the order of their calls, because the vendor tells calls of one name apart by their order. */
const inOrder = (turn: Turn, before: Turn | undefined): Turn => {
  const calls = before?.parts.flatMap((part) => (part.type === 'tool_call' ? [part.id] : [])) ?? []
  // Backwards, so that the first of several calls with one id wins.
  const places = new Map(calls.map((id, at): [string, number] => [id, at]).reverse())
  const place = (part: Part) => (part.type === 'tool_result' ? (places.get(part.id) ?? -1) : calls.length)
  return turn.role === 'user' && calls.length > 1
    ? { ...turn, parts: turn.parts.toSorted((a, b) => place(a) - place(b)) }
    : turn
}

const contentOf = (turn: Turn, names: ReadonlyMap<string, string>, signs: boolean): Json => {
  const parts = signedTogether(turn.parts.flatMap((part) => partsOf(part, names)))
  // The first call of a step must be signed; calls beside it need not be.
  const first = parts.findIndex((part) => part.functionCall !== undefined)
  const call = parts[first]
  if (signs && call !== undefined && call.thoughtSignature === undefined)
    parts[first] = { ...call, thoughtSignature: NO_SIGNATURE }
  return {
    role: turn.role === 'assistant' ? 'model' : 'user',
    parts: parts.length === 0 ? [{ text: ' ' }] : parts,
  }
}

const partsOf = (part: Part, names: ReadonlyMap<string, string>): JsonObject[] => {
  switch (part.type) {
    case 'text':
    case 'refusal':
    case 'summary':
      return [{ text: part.text }]
    case 'image':
      return [mediaPart(part.media, 'image/png')]
    case 'audio':
      return [mediaPart(part.media, 'audio/wav')]
    case 'document':
      return [mediaPart(part.media, 'application/pdf')]
    case 'thinking':
      return thoughtOf(part)
    case 'tool_call': {
      const own = part.signature?.origin === 'gemini' ? part.signature.value : undefined
      return [
        present({
          functionCall: { name: part.name, args: pastArguments(part) },
          thoughtSignature: own,
        }),
      ]
    }
    case 'tool_result':
      return resultOf(part, names)
  }
}

/** Only this vendor's own signed thoughts go back to it. */
const thoughtOf = (thought: Thinking): JsonObject[] =>
  thought.signature?.origin === 'gemini' ? [thoughtPart(thought)] : []

/** A signature that came with a text goes back with it. */
const signedTogether = (parts: readonly JsonObject[]): JsonObject[] => {
  const whole: JsonObject[] = []
  for (const part of parts) {
    const last = whole.at(-1)
    const signs = part.text === '' && part.thought === undefined && part.thoughtSignature !== undefined
    if (signs && typeof last?.text === 'string' && last.thoughtSignature === undefined)
      whole[whole.length - 1] = { ...last, thoughtSignature: part.thoughtSignature }
    else whole.push(part)
  }
  return whole
}

const resultOf = (result: ToolResult, names: ReadonlyMap<string, string>): JsonObject[] => {
  const text = result.parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n')
  const value = parseJson(text)
  const response = result.failed === true ? { error: text } : isObject(value) ? value : { output: text }
  const pictures = result.parts.filter((part) => part.type !== 'text').flatMap((part) => partsOf(part, names))
  return [
    { functionResponse: { name: result.name ?? names.get(result.id) ?? 'tool', response } },
    ...pictures,
  ]
}

const mediaPart = (media: Media, otherwise: string): JsonObject =>
  'url' in media
    ? { fileData: { fileUri: media.url, mimeType: mediaTypeOf(media, otherwise) } }
    : { inlineData: { mimeType: media.mediaType, data: media.data } }
