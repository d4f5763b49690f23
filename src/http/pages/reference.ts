/**
 * The API reference, made from the route table and the schemas of its rows, for docs/openapi.json and for the server
 * itself.
 */
import { z } from 'zod'
import type { Route } from '../route/route.ts'
import { errorSchemasOf } from '../schema/errors.ts'

/** The name of a schema in the reference. Throws if it has none. */
const nameOf = (schema: z.ZodType, where: string): string => {
  const id = z.globalRegistry.get(schema)?.id
  if (id === undefined) throw new Error(`the schema of ${where} has no id`)
  return id
}

/** Rows whose amounts are texts have schemas of their own. */
const suffixOf = ({ money }: Route): string => (money === 'text' ? 'Text' : '')

const refTo = (schema: z.ZodType, route: Route) => ({
  $ref: `#/components/schemas/${nameOf(schema, `${route.method} ${route.path}`)}${suffixOf(route)}`,
})

const anyOf = (schemas: readonly z.ZodType[], route: Route) => {
  const [first, ...others] = schemas.map((schema) => refTo(schema, route))
  return others.length === 0 ? first : { anyOf: [first, ...others] }
}

const parametersOf = (route: Route): readonly object[] => [
  ...[...route.path.matchAll(/[:*](\w+)/g)].map((match) => ({
    name: match[1],
    in: 'path',
    required: true,
    schema: { type: 'string' },
  })),
  ...(route.query ?? []).map((name) => ({ name, in: 'query', schema: { type: 'string' } })),
  ...(route.headers ?? []).map((name) => ({ name, in: 'header', schema: { type: 'string' } })),
]

const operationOf = (route: Route): object => {
  const parameters = parametersOf(route)
  const json = (schema: unknown) => ({ 'application/json': { schema } })
  const { body, event } = route
  const good = {
    description: 'OK',
    content: {
      [route.answerType ?? 'application/json']: { schema: refTo(route.answer, route) },
      ...(event === undefined
        ? {}
        : { [route.eventType ?? 'text/event-stream']: { schema: refTo(event, route) } }),
    },
  }
  return {
    summary: route.summary,
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined
      ? {}
      : { requestBody: { required: route.bodyOptional !== true, content: json(refTo(body, route)) } }),
    responses: {
      ...Object.fromEntries((route.statuses ?? [200]).map((status) => [status, good])),
      ...(route.runs === true && route.instead !== undefined
        ? {
            402: {
              description: 'Its price, for callers without a key',
              content: json(refTo(route.instead, route)),
            },
          }
        : {}),
      default: { description: 'An error; see errors.md', content: json(anyOf(errorSchemasOf(route), route)) },
    },
    security: route.auth === 'none' ? [] : [{ [route.auth]: [] }],
  }
}

const amounts = {
  number: { type: 'number' },
  text: { type: 'string', pattern: '^-?\\d+(\\.\\d{1,9})?$', description: 'USD' },
} as const

/** The named schemas of these routes, with those inside them, as JSON Schema; amounts in one of their forms. */
const definitionsOf = (all: readonly Route[], form: keyof typeof amounts) => {
  const named = new Map<string, z.ZodType>()
  for (const route of all)
    for (const schema of [route.body, route.answer, route.event, ...errorSchemasOf(route)]) {
      if (schema === undefined) continue
      const name = nameOf(schema, `${route.method} ${route.path}`)
      if ((named.get(name) ?? schema) !== schema) throw new Error(`two schemas have the id ${name}`)
      named.set(name, schema)
    }
  const { $defs } = z.toJSONSchema(z.object(Object.fromEntries(named)), {
    io: 'input',
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      if (zodSchema._zod.def.type === 'bigint') Object.assign(jsonSchema, { ...amounts[form], ...jsonSchema })
    },
  })
  return $defs ?? {}
}

/** Every schema of these routes. Throws if two have the same name. */
const schemasOf = (all: readonly Route[]): unknown => {
  const numbers = JSON.stringify(
    definitionsOf(
      all.filter(({ money }) => money !== 'text'),
      'number',
    ),
  )
  const texts = JSON.stringify(
    definitionsOf(
      all.filter(({ money }) => money === 'text'),
      'text',
    ),
  )
  const found = {
    ...JSON.parse(numbers.replaceAll('#/$defs/', '#/components/schemas/')),
    ...Object.fromEntries(
      Object.entries(JSON.parse(texts.replace(/#\/\$defs\/(\w+)/g, '#/components/schemas/$1Text'))).map(
        ([name, schema]) => [`${name}Text`, schema],
      ),
    ),
  }
  return Object.fromEntries(Object.entries(found).sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** The reference document of these routes. Throws if a row's schema has no name. */
export const referenceOf = (all: readonly Route[]) => {
  const paths: Record<string, Record<string, unknown>> = {}
  for (const route of all) {
    const path = route.path.replace(/[:*](\w+)/g, '{$1}')
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operationOf(route) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Turnpike',
      version: '1',
      description:
        'A metered gateway that puts every model vendor behind one address and one key. A tenant of a reseller reads amounts at the price of that; where the reseller tells no money, members of money are missing.',
    },
    paths,
    components: {
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer' },
        machine: { type: 'http', scheme: 'bearer', description: 'turnpike machine create' },
        session: { type: 'apiKey', in: 'cookie', name: 'turnpike_session' },
      },
      schemas: schemasOf(all),
    },
  }
}
