/**
 * Betas of messages: what a caller asks for in the header `anthropic-beta`, and what reaches a vendor. Anthropic asks
 * gateways to pass every name, because each of its clients' versions brings new ones: all do but those withheld here, and
 * the caller is told which these were. A name mostly only allows a member of the body; members that change the bill are
 * refused by name (request.ts). A name that its key may not use is the vendor's to refuse.
 * Sources: Claude Code, "Gateway protocol reference"; Anthropic API reference, "Beta headers", and the types
 * `AnthropicBeta` and `BetaUsage` of @anthropic-ai/sdk 1.12; for Bedrock the Amazon Bedrock user guide, "Anthropic Claude
 * Messages API".
 */
import type { Json, JsonObject } from '../../core/json-body.ts'
import type { Model } from '../../core/model.ts'
import { invalid, type Refusal } from '../../core/refusal.ts'
import { numberOf, objectOf, objectsOf, textsOf } from '../request/json-members.ts'

/** Betas that are withheld, by their names without the date, so that a later date of one is withheld too. */
const withheld: ReadonlySet<string> = new Set([
  // Answers in a hurry have a price of their own: "Fast mode", `speed`.
  'fast-mode',
  // Another model answers or advises, at its own price: `BetaFallbackMessageIterationUsage`, `BetaAdvisorMessageIterationUsage`.
  'server-side-fallback',
  'fallback-credit',
  'advisor-tool',
  // Containers are billed by their time: "Code execution tool", "Agent Skills".
  'code-execution',
  'skills',
  // Others' servers answer as often as the model asks: "MCP connector".
  'mcp-client',
  'mcp-tunnels',
  // Somebody else is billed: `billing_policy`.
  'user-profiles',
  // What is stored at the vendor is in the account of the house, which all callers share.
  'files-api',
  'agent-memory',
  'managed-agents',
  'message-threads',
  // It announces the caller's own credential, which does not reach the vendor.
  'oauth',
])

/** Betas that a Converse call takes among the model's own fields. Bedrock refuses a call with any name that it does not know. */
const inFields: ReadonlySet<string> = new Set([
  'interleaved-thinking-2025-05-14',
  'fine-grained-tool-streaming-2025-05-14',
  'token-efficient-tools-2025-02-19',
  'output-128k-2025-02-19',
  'context-1m-2025-08-07',
])

/** Inputs above 200,000 tokens. */
const LONG_INPUT = 'context-1m'
/** Some models cost more for inputs with more tokens than this. */
const LONG_INPUT_ABOVE = 200_000

const CONTEXT_MANAGEMENT = 'context-management-2025-06-27'
const COMPACT = 'compact-2026-01-12'

/** Further names are not read: no client asks for so many. */
const NAMES_MAX = 40
/** A name as a header may have it. */
const NAME = /^[a-z\d][\w.-]{0,99}$/i
const DATE = /-\d{4}-?\d{2}-?\d{2}$/

const familyOf = (name: string): string => name.toLowerCase().replace(DATE, '')

const reaches = (name: string, reach: 'header' | 'fields' | undefined): boolean =>
  reach === 'header'
    ? NAME.test(name) && !withheld.has(familyOf(name))
    : reach !== undefined && inFields.has(name)

/** The betas that a request asks for, in its header or, with clients of other clouds, in its body. */
export const requestedBetas = (header: string | null, body: JsonObject): readonly string[] => {
  const names = [...(header?.split(',') ?? []), ...textsOf(body.betas), ...textsOf(body.anthropic_beta)]
  return [...new Set(names.map((name) => name.trim()).filter((name) => name !== ''))].slice(0, NAMES_MAX)
}

type Betas = {
  /** The betas that reach the vendor. */
  readonly sent: readonly string[]
  /** The others, as named to the caller. */
  readonly notCarried: readonly string[]
}

/** Which of the requested betas reach a vendor; a Refusal for one that would be billed at an unknown price. */
export const betasFor = (
  requested: readonly string[],
  reach: 'header' | 'fields' | undefined,
  model: Model,
): Betas | Refusal => {
  const sent = requested.filter((name) => reaches(name, reach))
  const long = sent.find((name) => familyOf(name) === LONG_INPUT)
  if (long !== undefined && model.contextTokens <= LONG_INPUT_ABOVE)
    return invalid(
      'anthropic-beta',
      `'${long}' is not sold for ${model.id}: its price is known up to ${LONG_INPUT_ABOVE} tokens of input; leave it out or choose another model.`,
    )
  const others = requested.filter((name) => !sent.includes(name))
  return { sent, notCarried: others.map((name) => `anthropic-beta ${name}`) }
}

/** The header that passes the betas to a vendor of this dialect; none if there are no betas. */
export const betaHeader = (sent: readonly string[]): Readonly<Record<string, string>> =>
  sent.length === 0 ? {} : { 'anthropic-beta': sent.join(',') }

/** Whether `context_management` may be sent: the vendor refuses it without the beta of one of its edits. */
export const managesContext = (sent: readonly string[]): boolean =>
  sent.some((name) => name === CONTEXT_MANAGEMENT || name === COMPACT)

/** The edit that has the vendor write a summary and go on from it, above so many tokens of input. */
const COMPACT_EDIT = 'compact_20260112'
const COMPACT_FROM = 150_000

/** Edits of the context whose bill is known: they leave out earlier content, or write a summary of it. */
const known = new Set<Json | undefined>(['clear_tool_uses_20250919', 'clear_thinking_20251015', COMPACT_EDIT])

/** Whether an edit of the context is billed by the price table. */
export const isPriced = (edit: JsonObject): boolean => known.has(edit.type)

/** The tokens of input from which on the vendor is to write a summary; undefined if it is not to. */
export const compactsFrom = ({ context_management }: JsonObject): number | undefined => {
  const edits = objectsOf(objectOf(context_management).edits).filter(({ type }) => type === COMPACT_EDIT)
  if (edits.length === 0) return undefined
  // Any of them may be the one that the vendor acts on.
  const from = edits.map(({ trigger }) => numberOf(objectOf(trigger).value) ?? COMPACT_FROM)
  return from.reduce((least, tokens) => Math.min(least, tokens))
}
