/**
 * Responses, tools by who runs them. Those of the caller cost tokens alone. Those that run at the vendor are billed beyond
 * tokens, or bring in text that no request bounds: they are not sold here, are left out and named.
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

/** Whether the caller runs the tool. A shell is its own unless it stands in a container of the vendor's. */
const isOwnTool = ({ type, environment }: JsonObject): boolean =>
  type === 'shell' ? objectOf(environment).type === 'local' : ownTypes.has(type)

/** What a list of tools holds of the vendor's, by name. */
export const hostedIn = (tools: Json | undefined): readonly string[] =>
  objectsOf(tools)
    .filter((tool) => !isOwnTool(tool))
    .map(({ type }) => `tools ${textOf(type) ?? ''}`)

export const ownToolsIn = (tools: Json | undefined): readonly JsonObject[] =>
  objectsOf(tools).filter(isOwnTool)

/** All tools of a request: those beside the input, and those that an item of the input adds later. */
export const toolsOf = (body: JsonObject): readonly JsonObject[] => [
  ...objectsOf(body.tools),
  ...objectsOf(body.input).flatMap((item) => (item.type === 'additional_tools' ? objectsOf(item.tools) : [])),
]

/** Whether a choice of tools names one of the vendor's. */
export const choosesHosted = (choice: Json | undefined): boolean =>
  isObject(choice) &&
  (choice.type === 'allowed_tools' ? hostedIn(choice.tools).length > 0 : !ownChoices.has(choice.type))

const ownChoices: ReadonlySet<Json | undefined> = new Set([...ownTypes, 'shell'])
