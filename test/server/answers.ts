/** Checks every whole answer of a test server against the API reference. */
import type { z } from 'zod'
import { isObject, parseJson } from '../../src/core/json-body.ts'
import { type Nano, nanoFromDecimal, nanoFromNumber } from '../../src/core/money.ts'
import { Refusal } from '../../src/core/refusal.ts'
import type { Route } from '../../src/http/route/route.ts'
import { createRouter, routeFor, splitUrl } from '../../src/http/route/router.ts'
import { routes } from '../../src/http/routes.ts'
import { errorSchemasOf } from '../../src/http/schema/errors.ts'

const match = createRouter(routes)

/** Where two values differ, as the path of the first member that one of them lacks. */
const undeclaredIn = (value: unknown, declared: unknown, path: string): string | undefined => {
  if (typeof value !== 'object' || value === null) return undefined
  const of = Object(declared) as Record<string, unknown>
  for (const [name, member] of Object.entries(value)) {
    const here = path === '' ? name : `${path}.${name}`
    if (!Object.hasOwn(of, name)) return here
    const inner = undeclaredIn(member, of[name], here)
    if (inner !== undefined) return inner
  }
  return undefined
}

type Holder = Record<string, any>
type Money = NonNullable<Route['money']> | 'number'

/** The amount that an answer writes, in the form that its route declares; undefined if it is not one. */
const amountIn = (value: unknown, money: Money): Nano | undefined => {
  if (money === 'number') return typeof value === 'number' ? nanoFromNumber(Math.abs(value)) : undefined
  return typeof value === 'string' ? nanoFromDecimal(value.replace(/^-/, '')) : undefined
}

type Issue = z.core.$ZodIssue

/** The issues, with those of each form that the value may have. */
const flat = (issues: readonly Issue[]): readonly Issue[] =>
  issues.flatMap((issue) =>
    issue.code !== 'invalid_union'
      ? [issue]
      : issue.errors.flatMap((form) =>
          flat(form).map((one) => ({ ...one, path: [...issue.path, ...one.path] })),
        ),
  )

/** The same value with its amounts read, wherever the schema has one. */
const withAmounts = (schema: z.ZodType, value: unknown, money: Money): unknown => {
  const read = schema.safeParse(value)
  if (read.success) return value
  const copy = structuredClone(value)
  for (const { code, path, ...issue } of flat(read.error.issues)) {
    if (code !== 'invalid_type' || !('expected' in issue) || issue.expected !== 'bigint') continue
    const holder = path.slice(0, -1).reduce((of, name) => of?.[name as string], copy as Holder)
    const last = path.at(-1) ?? ''
    const amount = amountIn(holder?.[last as string], money)
    if (amount !== undefined) holder[last as string] = amount
  }
  return copy
}

/** Why a value does not fit a schema; undefined when it fits. Members that the schema does not name count. */
export const misfit = (schema: z.ZodType, written: unknown, money: Money = 'number'): string | undefined => {
  const value = withAmounts(schema, written, money)
  const read = schema.safeParse(value)
  if (!read.success)
    return read.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`).join('; ')
  const stranger = undeclaredIn(value, read.data, '')
  return stranger === undefined ? undefined : `${stranger} is not declared`
}

/** What a template says where a value was missing. What callers sent is quoted, and may say anything. */
const NO_WORD = /\b(?:for|of|from|than|is|be|has|to) undefined\b|\[object Object\]/

/** What is wrong with an answer of a route. */
export const misfitOf = (route: Route, status: number, value: unknown): string | undefined => {
  if (status >= 400 && NO_WORD.test(JSON.stringify(value))) return 'it is worded with a value that is none'
  const schemas = status < 400 ? [route.answer] : errorSchemasOf(route)
  const wrong = schemas.map((schema) => misfit(schema, value, route.money))
  if (!wrong.includes(undefined)) return wrong.join(' | ')
  const statuses: readonly number[] = route.statuses ?? [200]
  return status >= 400 || statuses.includes(status)
    ? undefined
    : `the status ${status} is not declared, ${statuses.join(', ')} is`
}

/** What is wrong with the events of a stream; events of errors have the shape of the errors of errors.md. */
export const misfitOfEvents = ({ event, eventType }: Route, text: string): string | undefined => {
  if (event === undefined) return 'a stream is not declared'
  for (const line of text.split('\n')) {
    const value = parseJson(line.startsWith('data: ') ? line.slice(6) : eventType === undefined ? '' : line)
    if (!isObject(value) || isObject(value.error) || typeof value.error === 'string') continue
    const wrong = misfit(event, value)
    if (wrong !== undefined) return `${wrong} in ${line}`
  }
  return undefined
}

/** The stream. Its events are checked when somebody asks for its text; reading it in pieces changes nothing. */
const fittingStream = (route: Route, response: Response): Response => {
  const textOf = response.text.bind(response)
  const value = async () => {
    const text = await textOf()
    const wrong = misfitOfEvents(route, text)
    if (wrong !== undefined)
      throw new Error(`${route.method} ${route.path} streams what its row does not declare: ${wrong}`)
    return text
  }
  return Object.defineProperty(response, 'text', { value })
}

/**
 * The answer, read and given again, if it is whole and fits its route; a stream is checked when it is read as a text.
 * Throws an error that names the route and what does not fit.
 */
export const fitting = async (request: Request, response: Response): Promise<Response> => {
  const type = response.headers.get('content-type') ?? ''
  const matched = match(request.method, splitUrl(request.url).path)
  if (matched instanceof Refusal) return response
  if (/^(?:text\/event-stream|application\/x-ndjson)/.test(type))
    return fittingStream(matched.route, response)
  // HEAD has the headers of GET alone.
  if (!type.startsWith('application/json') || (request.method === 'HEAD' && response.ok)) return response
  let bytes: ArrayBuffer
  try {
    bytes = await response.arrayBuffer()
  } catch (error) {
    const broken = new ReadableStream({ start: (controller) => controller.error(error) })
    return new Response(broken, response)
  }
  const text = new TextDecoder().decode(bytes)
  const route = routeFor(matched.route, request.headers)
  const wrong = misfitOf(route, response.status, JSON.parse(text))
  if (wrong !== undefined)
    throw new Error(
      `${route.method} ${route.path} does not answer what its row declares (${response.status}): ${wrong}\n${text.slice(0, 1_000)}`,
    )
  return new Response(bytes, response)
}
