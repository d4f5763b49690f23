/**
 * Messages, tools that the vendor runs and whose cost is known: how often the model may use them, and how many of these
 * uses are paid beside the tokens. Each use is another round, in which the model reads everything again.
 * Sources: Anthropic documentation, "Web search tool" and "Web fetch tool" (`max_uses`; usage and pricing), "Tool search
 * tool", and "Server tools": after ten rounds an answer ends with `pause_turn`.
 */
import type { Edits, Json, JsonBody, JsonObject } from '../../core/json-body.ts'
import type { Findings } from '../request/findings.ts'
import { numberOf, objectsOf, textOf } from '../request/json-members.ts'

const SEARCH = /^web_search_\d{8}$/
const FETCH = /^web_fetch_\d{8}$/
/** It costs nothing but the rounds, and has no `max_uses`. */
const FIND_TOOLS = /^tool_search_tool_(?:bm25|regex)_\d{8}$/
/** These versions are used by the model alone. Later ones also run code, in rounds that `max_uses` does not count. */
const BY_MODEL = /^web_\w+_2025\d{4}$/

/** The most rounds of an answer. */
const ROUNDS_MOST = 10

/** What we ask for where a request does not say how often a tool may be used. */
const USES = 5

const isBounded = (type: string): boolean => SEARCH.test(type) || FETCH.test(type)

/** Whether it is a tool of the vendor's that is sold. */
export const isHosted = (type: string): boolean => isBounded(type) || FIND_TOOLS.test(type)

const usesOf = ({ max_uses: most }: JsonObject): number => numberOf(most) ?? USES

/** What is wrong with how often it may be used, if anything is. */
export const usesAreWrong = ({ max_uses: most }: JsonObject): boolean =>
  (most ?? null) !== null && !(Number.isSafeInteger(most) && Number(most) >= 1)

/** Notes what a tool may cost. */
export const countHosted = (tool: JsonObject, found: Findings): void => {
  const type = textOf(tool.type) ?? ''
  if (!isHosted(type)) return
  found.hosted(
    BY_MODEL.test(type) ? usesOf(tool) : ROUNDS_MOST,
    SEARCH.test(type) ? usesOf(tool) : 0,
    ROUNDS_MOST,
  )
}

const lacksMost = ({ type, max_uses: most }: JsonObject): boolean =>
  (most ?? null) === null && isBounded(textOf(type) ?? '')

/** Tools that the vendor runs are sent with a bound of their uses, which is what the call is held for. */
export const boundedTools = ({ outline, value }: JsonBody): Edits => {
  if (!objectsOf(outline.tools).some(lacksMost)) return {}
  const tools = objectsOf(value.tools).map(
    (tool): Json => (lacksMost(tool) ? { ...tool, max_uses: USES } : tool),
  )
  return { tools: JSON.stringify(tools) }
}
