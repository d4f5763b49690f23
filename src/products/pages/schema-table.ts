/** A JSON Schema's members as rows of a table, for people. */
import { isObject, type Json, type JsonObject } from '../../core/json-body.ts'
import { type Html, html, table } from './html.ts'

const VALUES_MOST = 40

const listed = (values: readonly Json[]): string => {
  const some = values.slice(0, VALUES_MOST).map((one) => JSON.stringify(one))
  return some.join(', ') + (values.length > some.length ? ', …' : '')
}

const rangeOf = ({ minimum, maximum, minLength, maxLength, minItems, maxItems }: JsonObject): string => {
  const between = (low: Json | undefined, high: Json | undefined, of: string) =>
    low === undefined && high === undefined
      ? []
      : [`${low === undefined ? '' : `from ${low} `}${high === undefined ? '' : `to ${high}`}${of}`.trim()]
  return [
    ...between(minimum, maximum, ''),
    ...between(minLength, maxLength, ' letters'),
    ...between(minItems, maxItems, ' items'),
  ].join(', ')
}

/** The type of a value, in a few words. */
const typeOf = (schema: Json | undefined, depth = 0): string => {
  if (!isObject(schema)) return 'anything'
  if (Array.isArray(schema.enum)) return `one of ${listed(schema.enum)}`
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (typeof schema.$ref === 'string') return schema.$ref.split('/').at(-1) ?? ''
  const options = schema.anyOf ?? schema.oneOf
  if (Array.isArray(options) && depth < 2)
    return [...new Set(options.map((one) => typeOf(one, depth + 1)))].join(' or ')
  if (schema.type === 'array') return `list of ${typeOf(schema.items, depth + 1)}`
  const type = typeof schema.type === 'string' ? schema.type : 'anything'
  const range = rangeOf(schema)
  return range === '' ? type : `${type}, ${range}`
}

const text = (value: Json | undefined): string => (typeof value === 'string' ? value : '')

/** The members of an object's schema; a sentence if it names none. */
export const schemaTable = (caption: string, schema: JsonObject): Html => {
  const properties = isObject(schema.properties) ? Object.entries(schema.properties) : []
  if (properties.length === 0) return html`<p>${caption}: ${typeOf(schema)}.</p>`
  const required = Array.isArray(schema.required) ? schema.required : []
  return table(
    caption,
    ['Name', 'What it may be', 'Needed', 'Default', 'Meaning'],
    properties.map(([name, one]) => {
      const member = isObject(one) ? one : {}
      return [
        html`<code>${name}</code>`,
        typeOf(member),
        required.includes(name) ? 'yes' : 'no',
        member.default === undefined ? '' : JSON.stringify(member.default),
        text(member.description) || text(member['x-media']),
      ]
    }),
  )
}
