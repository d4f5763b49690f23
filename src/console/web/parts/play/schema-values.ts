/** The meaning of a form's fields: the properties of a JSON schema, and the inputs that the typed texts make. */

type Node = {
  readonly type?: string | readonly string[]
  readonly description?: string
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly default?: unknown
  readonly minimum?: number
  readonly maximum?: number
  readonly maxLength?: number
  readonly items?: Node
  readonly anyOf?: readonly Node[]
  readonly oneOf?: readonly Node[]
  readonly 'x-media'?: string | readonly string[]
}
export type InputSchema = {
  readonly properties?: Readonly<Record<string, Node>>
  readonly required?: readonly string[]
}

/** How a property is entered. */
export type Property = {
  readonly form: 'line' | 'text' | 'number' | 'truth' | 'choice' | 'file' | 'list' | 'json'
  readonly description: string | undefined
  readonly choices: readonly string[]
  readonly usual: string | undefined
  readonly minimum: number | undefined
  readonly maximum: number | undefined
  /** Media types that a file may have. */
  readonly types: readonly string[]
}

/** By name, as typed; an input with an empty text is left out. */
export type Values = Readonly<Record<string, string>>

const long = /^(prompt|text|input|html|lyrics|instructions|script|query)$/

const typeOf = ({ type, anyOf, oneOf }: Node): string => {
  if (typeof type === 'string') return type
  if (type !== undefined) return type.find((one) => one !== 'null') ?? 'string'
  const parts = [...(anyOf ?? oneOf ?? [])].map(typeOf).filter((one) => one !== 'null')
  return parts.length > 0 && parts.every((one) => one === parts[0]) ? (parts[0] ?? 'json') : 'json'
}

const choicesOf = (node: Node): readonly string[] => {
  if (node.enum !== undefined) return node.enum.map(String)
  const parts = (node.anyOf ?? node.oneOf ?? []).filter(({ type }) => type !== 'null')
  return parts.length > 0 && parts.every((part) => part.const !== undefined || part.enum !== undefined)
    ? parts.flatMap((part) => part.enum?.map(String) ?? [String(part.const)])
    : []
}

const formOf = (name: string, node: Node): Property['form'] => {
  if (node['x-media'] !== undefined) return 'file'
  if (choicesOf(node).length > 0) return 'choice'
  const type = typeOf(node)
  if (type === 'boolean') return 'truth'
  if (type === 'integer' || type === 'number') return 'number'
  if (type === 'array') {
    const items =
      node.items === undefined ? 'json' : node.items['x-media'] === undefined ? typeOf(node.items) : 'string'
    return items === 'string' ? 'list' : 'json'
  }
  if (type !== 'string') return 'json'
  return long.test(name) || (node.maxLength ?? 0) > 300 ? 'text' : 'line'
}

const writtenOf = (value: unknown): string | undefined =>
  value === undefined || value === null
    ? undefined
    : typeof value === 'object'
      ? JSON.stringify(value)
      : String(value)

/** The properties, required ones first. */
export const propertiesOf = ({ properties = {}, required = [] }: InputSchema) =>
  Object.entries(properties)
    .map(([name, node]) => ({
      name,
      required: required.includes(name),
      of: {
        form: formOf(name, node),
        description: node.description,
        choices: choicesOf(node),
        usual: writtenOf(node.default),
        minimum: node.minimum,
        maximum: node.maximum,
        types: [node['x-media'] ?? []].flat().flatMap((types) => types.split(/,\s*/)),
      } satisfies Property,
    }))
    .sort((a, b) => Number(b.required) - Number(a.required))

const inputOf = ({ form }: Property, node: Node | undefined, text: string): unknown => {
  if (form === 'number') return Number(text)
  if (form === 'truth') return text === 'true'
  if (form === 'list') return text.split('\n').flatMap((line) => (line.trim() === '' ? [] : [line.trim()]))
  if (form === 'json') return JSON.parse(text)
  // A choice among numbers is sent as a number.
  return node?.enum?.find((one) => String(one) === text) ?? text
}

/** The inputs that the texts make; throws an Error that names the one that cannot be read. */
export const inputsOf = (schema: InputSchema, values: Values): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    propertiesOf(schema).flatMap(({ name, of }) => {
      const text = values[name] ?? ''
      if (text.trim() === '') return []
      try {
        const value = inputOf(of, schema.properties?.[name], text)
        if (typeof value === 'number' && Number.isNaN(value)) throw new Error('no number')
        return [[name, value]]
      } catch {
        throw new Error(`'${name}' must be ${of.form === 'number' ? 'a number' : 'JSON'}.`)
      }
    }),
  )
