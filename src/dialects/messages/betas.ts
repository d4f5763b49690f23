/**
 * Betas of messages: what a caller asks for in the header `anthropic-beta`, and what reaches a vendor. Only the names
 * in this list do, exactly as spelled here; the caller is told which others were dropped.
 * Sources: Anthropic API reference, "Beta headers", and the type `AnthropicBeta` of @anthropic-ai/sdk 1.12; for the
 * names of Claude Code, what its version 2.1.330 sends; for Bedrock the Amazon Bedrock user guide, "Anthropic Claude
 * Messages API".
 */
import type { Json, JsonObject } from '../../core/json-body.ts'
import type { Model } from '../../core/model.ts'
import { invalid, type Refusal } from '../../core/refusal.ts'
import { textsOf } from '../json-members.ts'

/** Where a beta may be sent: only in Anthropic's header, or also among the model's own fields of a Converse call. */
type Reach = 'header' | 'header and fields'

/** Betas under which the vendor's bill still follows the price table. */
const carried = new Map<string, Reach>([
  ['interleaved-thinking-2025-05-14', 'header and fields'],
  ['fine-grained-tool-streaming-2025-05-14', 'header and fields'],
  ['token-efficient-tools-2025-02-19', 'header and fields'],
  // Answers of up to 128,000 tokens; the catalogue's maximum for the model bounds them.
  ['output-128k-2025-02-19', 'header and fields'],
  // Inputs above 200,000 tokens: see `longInput`.
  ['context-1m-2025-08-07', 'header and fields'],
  ['claude-code-20250219', 'header'],
  ['context-management-2025-06-27', 'header'],
  ['effort-2025-11-24', 'header'],
  ['structured-outputs-2025-11-13', 'header'],
  ['structured-outputs-2025-12-15', 'header'],
  // Tools that are loaded late, and examples of inputs. A search tool that runs at the vendor is refused as a tool.
  ['advanced-tool-use-2025-11-20', 'header'],
  ['tool-search-tool-2025-10-19', 'header'],
  ['tool-examples-2025-10-29', 'header'],
  ['mid-conversation-system-2026-04-07', 'header'],
  ['mid-conversation-system-clear-at-2026-08-21', 'header'],
  ['mid-conversation-tool-changes-2026-07-01', 'header'],
  ['mid-conversation-output-config-2026-07-01', 'header'],
  ['task-budgets-2026-03-13', 'header'],
  ['thinking-token-count-2026-05-13', 'header'],
  ['thinking-display-updates-2026-08-18', 'header'],
  ['thinking-binding-controls-2026-08-01', 'header'],
  ['redact-thinking-2026-02-12', 'header'],
  ['model-context-window-exceeded-2025-08-26', 'header'],
  ['computer-use-2024-10-22', 'header'],
  ['computer-use-2025-01-24', 'header'],
  ['computer-use-2025-11-24', 'header'],
  ['cache-diagnosis-2026-04-07', 'header'],
  // Writing to the cache for an hour has its own price in the table.
  ['extended-cache-ttl-2025-04-11', 'header'],
  ['prompt-caching-scope-2026-01-05', 'header'],
  ['prompt-caching-2024-07-31', 'header'],
  ['pdfs-2024-09-25', 'header'],
  ['token-counting-2024-11-01', 'header'],
])

const LONG_INPUT = 'context-1m-2025-08-07'
/** Some models cost more for inputs with more tokens than this. */
const LONG_INPUT_ABOVE = 200_000

const CONTEXT_MANAGEMENT = 'context-management-2025-06-27'

/** Further names are not read: no client asks for so many. */
const NAMES_MAX = 40

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
  const known = requested.filter((name) => reach !== undefined && carried.get(name)?.includes(reach) === true)
  if (known.includes(LONG_INPUT) && model.contextTokens <= LONG_INPUT_ABOVE)
    return invalid(
      'anthropic-beta',
      `'${LONG_INPUT}' is not sold for ${model.id}: its price is known up to ${LONG_INPUT_ABOVE} tokens of input; leave it out or choose another model.`,
    )
  const others = requested.filter((name) => !known.includes(name))
  return { sent: known, notCarried: others.map((name) => `anthropic-beta ${name}`) }
}

/** The header that passes the betas to a vendor of this dialect; none if there are no betas. */
export const betaHeader = (sent: readonly string[]): Readonly<Record<string, string>> =>
  sent.length === 0 ? {} : { 'anthropic-beta': sent.join(',') }

/** Whether `context_management` may be sent: the vendor refuses it without its beta. */
export const managesContext = (sent: readonly string[]): boolean => sent.includes(CONTEXT_MANAGEMENT)

/**
 * Edits of the context that only leave out earlier content. Others write a summary, which is billed beside the usage.
 */
const clearing = new Set<Json | undefined>(['clear_tool_uses_20250919', 'clear_thinking_20251015'])

/** Whether an edit of the context is billed by the price table. */
export const isClearing = (edit: JsonObject): boolean => clearing.has(edit.type)
