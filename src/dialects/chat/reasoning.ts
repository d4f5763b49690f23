/**
 * Chat completions, reasoning: which efforts each vendor's models take, how to turn it off, and what they refuse beside
 * it. Sources: OpenAI API docs, "Reasoning models" and the parameter compatibility of each model's guide; DeepSeek,
 * Moonshot and Z.ai, "Thinking Mode"; Model Studio, "Deep thinking"; OpenRouter, "Reasoning tokens"; xAI, "Reasoning".
 */
import type { JsonObject } from '../../core/json-body.ts'
import type { Conversation, Effort } from '../neutral.ts'
import { effortOf, nearestEffort } from '../translate/reasoning.ts'
import type { Target } from '../translate/vendor-call.ts'

type Rule = {
  readonly names: RegExp
  readonly efforts: readonly Effort[]
  readonly noneByDefault?: boolean
  /** It takes stop sequences; the others answer "Unsupported parameter: 'stop'", whatever the effort. */
  readonly takesStop?: true
}

/** OpenAI's reasoning models by name: the first rule that matches applies. */
const openaiModels: readonly Rule[] = [
  { names: /^gpt-5(?:\.\d+)?-chat/, efforts: [], takesStop: true },
  { names: /^o(?:1|3-mini)(?:-|$)/, efforts: ['low', 'medium', 'high'], takesStop: true },
  { names: /^(?:o\d|codex)/, efforts: ['low', 'medium', 'high'] },
  { names: /^gpt-5(?:-|$)/, efforts: ['minimal', 'low', 'medium', 'high'] },
  { names: /^gpt-5\.1-codex-max/, efforts: ['none', 'low', 'medium', 'high', 'xhigh'], noneByDefault: true },
  { names: /^gpt-5\.1(?:-|$)/, efforts: ['none', 'low', 'medium', 'high'], noneByDefault: true },
  { names: /^gpt-5\.[234](?:-|$)/, efforts: ['none', 'low', 'medium', 'high', 'xhigh'], noneByDefault: true },
  { names: /^gpt-(?:5\.|[6-9])/, efforts: ['none', 'low', 'medium', 'high', 'xhigh'] },
]
const openaiRule = ({ quirks, model }: Target): Rule | undefined =>
  quirks.reasoningOff === 'openai'
    ? openaiModels.find(({ names }) => names.test(model.upstreamName))
    : undefined

/** How to turn off each vendor's thinking, where the effort `none` does not do it. */
const offMembers: Readonly<Record<string, JsonObject>> = {
  thinking: { thinking: { type: 'disabled' } },
  enable_thinking: { enable_thinking: false },
  none: { reasoning_effort: 'none' },
}

/** The members that ask for reasoning or turn it off; what cannot be expressed is added to `notCarried`. */
export const reasoningMembers = (it: Conversation, to: Target, notCarried: string[]): JsonObject => {
  const requested = requestedEffort(it)
  if (it.reasoning === undefined) return {}
  if (!to.model.capabilities.includes('reasoning')) {
    if (requested !== 'none') notCarried.push('reasoning')
    return {}
  }
  if (requested === undefined) {
    notCarried.push('reasoning')
    return {}
  }
  const off = offMembers[to.quirks.reasoningOff ?? '']
  if (requested === 'none' && off !== undefined) return off
  const rule = openaiRule(to)
  const effort = rule === undefined ? usual(requested) : nearestEffort(requested, rule.efforts)
  if (effort === undefined || (requested === 'none' && effort !== 'none')) notCarried.push('reasoning')
  return effort === undefined ? {} : { reasoning_effort: effort }
}

/** The efforts that most vendors know. */
const usual = (effort: Effort): Effort | undefined =>
  effort === 'none' ? undefined : effort === 'max' ? 'xhigh' : effort

/** A caller that asks to see reasoning wants some, and many models reason only on request. */
const requestedEffort = ({ reasoning }: Conversation): Effort | undefined =>
  reasoning === undefined
    ? undefined
    : (effortOf(reasoning) ?? (reasoning.show === true ? 'medium' : undefined))

const samplingNames = {
  temperature: 'temperature',
  topP: 'top_p',
  presencePenalty: 'presence_penalty',
  frequencyPenalty: 'frequency_penalty',
  logprobs: 'logprobs',
  stop: 'stop',
  user: 'user',
} as const
type SamplingMember = keyof typeof samplingNames

/** Sampling values that ask for the vendor's default. */
const asUsual: Readonly<Partial<Record<SamplingMember, number>>> = {
  temperature: 1,
  topP: 1,
  presencePenalty: 0,
  frequencyPenalty: 0,
}

/** The conversation without such members that the vendor or the model refuses; each is added to `notCarried`. */
export const withSampling = (it: Conversation, to: Target, notCarried: string[]): Conversation => {
  const kept: Partial<Record<SamplingMember, number | readonly string[] | undefined>> = {}
  for (const name of refusedBy(it, to)) {
    const given = name === 'stop' && it.stop.length === 0 ? undefined : it[name]
    if (given === undefined) continue
    if (given !== asUsual[name]) notCarried.push(samplingNames[name])
    kept[name] = name === 'stop' ? [] : undefined
  }
  return { ...it, ...kept } as Conversation
}

const refusedBy = (it: Conversation, to: Target): readonly SamplingMember[] => [
  ...(to.quirks.refuses ?? []),
  ...refusedByModel(it, to),
]

const refusedByModel = (it: Conversation, to: Target): readonly SamplingMember[] => {
  if (to.quirks.reasoningOff !== 'openai')
    return to.model.capabilities.includes('reasoning') ? (to.quirks.refusedBesideReasoning ?? []) : []
  const rule = openaiRule(to)
  if (rule === undefined) return []
  return [
    ...(reasons(it, rule) ? besideReasoning : []),
    ...(rule.takesStop === true ? [] : ['stop' as const]),
  ]
}

const besideReasoning = [
  'temperature',
  'topP',
  'presencePenalty',
  'frequencyPenalty',
  'logprobs',
] as const satisfies readonly SamplingMember[]

/** Whether the model reasons about this call. */
const reasons = (it: Conversation, { efforts, noneByDefault }: Rule): boolean => {
  const requested = requestedEffort(it) ?? (noneByDefault === true ? 'none' : 'medium')
  return efforts.length > 0 && !(requested === 'none' && efforts.includes('none'))
}
