/**
 * Responses, tools ⇄ neutral form. In other dialects a tool is a function with a flat name. A free-text tool becomes a
 * function with one text argument, a namespace becomes a prefix of the name, and the answer reverses both.
 * Source of the format: OpenAI API reference, "Create a model response", `tools`.
 */
import { type JsonObject, present } from '../../core/json-body.ts'
import type { Tool } from '../neutral.ts'
import { flagOf, objectOf, objectsOf, textOf } from '../request/json-members.ts'
import { toolsOf } from './own-tools.ts'

/** The request's own names for its tools, by their flat names. */
export type Declared = ReadonlyMap<
  string,
  { readonly name: string; readonly namespace?: string; readonly custom?: boolean }
>

/** The flat name of a tool, a tool call or a tool choice; undefined when it has none. */
export const flatName = ({ name, namespace }: JsonObject): string | undefined => {
  const own = textOf(name)
  const space = textOf(namespace)
  return own === undefined || space === undefined ? own : `${space}${space.endsWith('__') ? '' : '__'}${own}`
}

/** The tools one by one; those in a namespace with its name. */
const singles = (body: JsonObject): readonly JsonObject[] =>
  toolsOf(body).flatMap((tool) =>
    tool.type === 'namespace'
      ? objectsOf(tool.tools).map((inner) => ({ ...inner, namespace: tool.name }))
      : [tool],
  )

/** The tools of a request, and the names of those that have no place in the neutral form. */
export const readTools = (
  body: JsonObject,
): { readonly tools: readonly Tool[]; readonly ignored: readonly string[] } => {
  const read = singles(body).map((tool) => ({ tool, type: textOf(tool.type) ?? '', read: readTool(tool) }))
  return {
    tools: read.flatMap((one) => one.read ?? []),
    ignored: read.flatMap((one) => (one.read === undefined ? [`tools ${one.type}`] : [])),
  }
}

const readTool = (tool: JsonObject): Tool | undefined => {
  const name = flatName(tool)
  if (name === undefined) return undefined
  const description = textOf(tool.description)
  if (tool.type === 'function')
    return present({
      name,
      description,
      parameters: tool.parameters ?? undefined,
      strict: flagOf(tool.strict),
    })
  if (tool.type !== 'custom') return undefined
  const definition = textOf(objectOf(tool.format).definition)
  const grammar = definition === undefined ? '' : `\nThe input must follow this grammar:\n${definition}`
  return {
    name,
    description: `${description ?? ''}${grammar}`,
    parameters: { type: 'object', properties: { input: { type: 'string' } }, required: ['input'] },
  }
}

/** What the request calls its tools, by their flat names. */
export const declaredTools = (body: JsonObject): Declared =>
  new Map(
    singles(body).flatMap((tool) => {
      const flat = flatName(tool)
      const name = textOf(tool.name)
      if (flat === undefined || name === undefined) return []
      const custom = tool.type === 'custom' ? true : undefined
      return [[flat, present({ name, namespace: textOf(tool.namespace), custom })]]
    }),
  )
