/**
 * Responses, tools by who runs them. The caller's own tools cost only tokens. Tools that run at the vendor are billed
 * beyond tokens, or bring in text that no request bounds. Only the search is offered, where its price is known and the
 * caller bounds how often it is used (`max_tool_calls`): what is `searching` below. The caller is told which others were
 * not carried.
 * Source of the format: OpenAI API reference, "Create a model response", `tools` and `max_tool_calls`.
 */
import { isObject, type Json, type JsonObject } from '../../core/json-body.ts'
import { objectOf, objectsOf, textOf } from '../request/json-members.ts'

const ownTypes: ReadonlySet<Json | undefined> = new Set([
  'function',
  'custom',
  'namespace',
  'tool_search',
  'local_shell',
  'apply_patch',
  'computer',
  'computer_use_preview',
])

/** The search whose price is listed; its previews have other prices. */
const searchTypes: ReadonlySet<Json | undefined> = new Set(['web_search', 'web_search_2025_08_26'])

const isSearch = ({ type }: JsonObject): boolean => searchTypes.has(type)

/** How many searches a request may make: none unless it says how many calls of such tools at most. */
export const searchesOf = (body: JsonObject): number => {
  const { max_tool_calls: most } = body
  return typeof most === 'number' && toolsOf(body).some(isSearch) ? most : 0
}

/** Whether a tool is offered: one that the caller runs, or the search. */
const isOffered = (tool: JsonObject, searching: boolean): boolean =>
  isOwnTool(tool) || (searching && isSearch(tool))

/** Whether the caller runs the tool. A shell is the caller's unless it is in a container of the vendor's. */
const isOwnTool = ({ type, environment, tools }: JsonObject): boolean => {
  if (type === 'shell') return objectOf(environment).type === 'local'
  return ownTypes.has(type) && (type !== 'namespace' || objectsOf(tools).every(isOwnTool))
}

/** The tools in a list that are not offered, by name. */
export const hostedIn = (
  tools: Json | readonly JsonObject[] | undefined,
  searching: boolean,
): readonly string[] =>
  objectsOf(tools)
    .filter((tool) => !isOffered(tool, searching))
    .map(({ type }) => `tools ${textOf(type) ?? ''}`)

export const offeredIn = (tools: Json | undefined, searching: boolean): readonly JsonObject[] =>
  objectsOf(tools).filter((tool) => isOffered(tool, searching))

/**
 * Tools that an item of the input adds. Any kind of item may, except a server's list of its own tools, which declares
 * none.
 */
export const addedBy = ({ type, tools }: JsonObject): readonly JsonObject[] =>
  type === 'mcp_list_tools' ? [] : objectsOf(tools)

/** All tools of a request: those beside the input, and those that its items add later. */
export const toolsOf = (body: JsonObject): readonly JsonObject[] => [
  ...objectsOf(body.tools),
  ...objectsOf(body.input).flatMap(addedBy),
]

/** Whether a choice among allowed tools names one that is not offered. */
export const allowsHosted = (choice: Json | undefined, searching: boolean): choice is JsonObject =>
  isObject(choice) && choice.type === 'allowed_tools' && hostedIn(choice.tools, searching).length > 0

/** Whether the model must use a tool, and only one that is not offered could be meant: without it, it would do something else. */
export const forcesHosted = (body: JsonObject, searching: boolean): boolean => {
  const { tool_choice: choice } = body
  const left = isObject(choice) && choice.type === 'allowed_tools' ? objectsOf(choice.tools) : toolsOf(body)
  if (isObject(choice) && choice.type !== 'allowed_tools')
    return !ownChoices.has(choice.type) && !(searching && isSearch(choice))
  const mustUse = choice === 'required' || (isObject(choice) && choice.mode === 'required')
  return mustUse && left.length > 0 && !left.some((tool) => isOffered(tool, searching))
}

const ownChoices: ReadonlySet<Json | undefined> = new Set([...ownTypes, 'shell', 'auto', 'none', 'required'])
