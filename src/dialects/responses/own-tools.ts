/**
 * Responses, tools by who runs them. The caller's own tools cost only tokens. Tools that run at the vendor are billed
 * beyond tokens, or bring in text that no request bounds. They are not offered here, and the caller is told that they
 * were not carried.
 * Source of the format: OpenAI API reference, "Create a model response", `tools`.
 */
import { isObject, type Json, type JsonObject } from '../../core/json-body.ts'
import { objectOf, objectsOf, textOf } from '../json-members.ts'

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

/** Whether the caller runs the tool. A shell is the caller's unless it is in a container of the vendor's. */
const isOwnTool = ({ type, environment, tools }: JsonObject): boolean => {
  if (type === 'shell') return objectOf(environment).type === 'local'
  return ownTypes.has(type) && (type !== 'namespace' || objectsOf(tools).every(isOwnTool))
}

/** The vendor's own tools in a list, by name. */
export const hostedIn = (tools: Json | readonly JsonObject[] | undefined): readonly string[] =>
  objectsOf(tools)
    .filter((tool) => !isOwnTool(tool))
    .map(({ type }) => `tools ${textOf(type) ?? ''}`)

export const ownToolsIn = (tools: Json | undefined): readonly JsonObject[] =>
  objectsOf(tools).filter(isOwnTool)

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

/** Whether a choice among allowed tools names one of the vendor's. */
export const allowsHosted = (choice: Json | undefined): choice is JsonObject =>
  isObject(choice) && choice.type === 'allowed_tools' && hostedIn(choice.tools).length > 0

/** Whether the model must use a tool, and only the vendor's own could be meant: without them it would do something else. */
export const forcesHosted = (body: JsonObject): boolean => {
  const { tool_choice: choice } = body
  const left = isObject(choice) && choice.type === 'allowed_tools' ? objectsOf(choice.tools) : toolsOf(body)
  if (isObject(choice) && choice.type !== 'allowed_tools') return !ownChoices.has(choice.type)
  const mustUse = choice === 'required' || (isObject(choice) && choice.mode === 'required')
  return mustUse && left.length > 0 && !left.some(isOwnTool)
}

const ownChoices: ReadonlySet<Json | undefined> = new Set([...ownTypes, 'shell', 'auto', 'none', 'required'])
