/**
 * The API reference, made from the route table and the schemas of its rows, for docs/openapi.json and for the server
 * itself.
 */
import { z } from 'zod'
import type { Route } from './route.ts'
import { errorSchemasOf } from './schema/errors.ts'

/** The name of a schema in the reference. Throws if it has none. */
const nameOf = (schema: z.ZodType, where: string): string => {
  const id = z.globalRegistry.get(schema)?.id
  if (id === undefined) throw new Error(`the schema of ${where} has no id`)
  return id
}

const refTo = (schema: z.ZodType, { method, path }: Route) => ({
  $ref: `#/components/schemas/${nameOf(schema, `${method} ${path}`)}`,
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
      ...(event === undefined ? {} : { 'text/event-stream': { schema: refTo(event, route) } }),
    },
  }
  return {
    summary: route.summary,
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined ? {} : { requestBody: { required: true, content: json(refTo(body, route)) } }),
    responses: {
      ...Object.fromEntries((route.statuses ?? [200]).map((status) => [status, good])),
      default: { description: 'An error; see errors.md', content: json(anyOf(errorSchemasOf(route), route)) },
    },
    security: route.auth === 'none' ? [] : [{ [route.auth]: [] }],
  }
}

/**
 * Every schema of these routes, with the named schemas inside them, as JSON Schema. Throws if two have the same name.
 */
const schemasOf = (all: readonly Route[]): unknown => {
  const named = new Map<string, z.ZodType>()
  for (const route of all)
    for (const schema of [route.body, route.answer, route.event, ...errorSchemasOf(route)]) {
      if (schema === undefined) continue
      const name = nameOf(schema, `${route.method} ${route.path}`)
      if ((named.get(name) ?? schema) !== schema) throw new Error(`two schemas have the id ${name}`)
      named.set(name, schema)
    }
  const { $defs } = z.toJSONSchema(z.object(Object.fromEntries(named)), { io: 'input' })
  const sorted = Object.entries($defs ?? {}).sort(([a], [b]) => (a < b ? -1 : 1))
  return JSON.parse(
    JSON.stringify(Object.fromEntries(sorted)).replaceAll('#/$defs/', '#/components/schemas/'),
  )
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
      description: 'A metered gateway that puts every model vendor behind one address and one key.',
    },
    paths,
    components: {
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer' },
        session: { type: 'apiKey', in: 'cookie', name: 'turnpike_session' },
      },
      schemas: schemasOf(all),
    },
  }
}
