/** What faces share: where an act's input comes from in a request, and how money is written. */
import type { z } from 'zod'
import type { JsonObject } from '../core/json-body.ts'
import { decimalFromNano, usdNumber } from '../core/money.ts'
import { type Told, tellsNothing, told } from '../tenancy/terms.ts'
import { type AnyAct, bodyOf } from './act.ts'
import type { Who } from './who.ts'

/**
 * How amounts are written: as JSON numbers where the specification says number, else as decimal texts, in which every
 * client keeps every digit.
 */
export type MoneyForm = 'number' | 'text'

const writers = { number: usdNumber, text: decimalFromNano } as const

/**
 * What an act shows, as JSON values: every `bigint` in it is an amount. A tenant with terms is told it at its price, or
 * gets no member of money at all.
 */
export const written = (value: unknown, form: MoneyForm, terms?: Told): unknown => {
  if (typeof value === 'bigint') return writers[form](told(value, terms))
  if (Array.isArray(value)) return value.map((one) => written(one, form, terms))
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).filter(([name, member]) => !isUntold(name, member, terms))
  return Object.fromEntries(members.map(([name, member]) => [name, written(member, form, terms)]))
}

const isUntold = (name: string, member: unknown, terms: Told): boolean =>
  tellsNothing(terms) && (typeof member === 'bigint' || name.endsWith('_usd'))

/** The terms by which a face writes what an act shows to a tenant, and reads what one sends. */
export const termsFor = ({ amounts }: AnyAct, { reach }: Who): Told => {
  if (reach.of !== 'key' || amounts === 'paid') return undefined
  const { terms } = reach.key
  return amounts === 'told' && !tellsNothing(terms) ? undefined : terms
}

/** What an act shows, as a client of the text form gets it. */
export type Written<T> = T extends bigint
  ? string
  : T extends readonly (infer One)[]
    ? readonly Written<One>[]
    : T extends object
      ? { readonly [Name in keyof T]: Written<T[Name]> }
      : T

/** Where a row of HTTP takes the members of an act's input from; what it names nowhere comes from the body. */
export type Sources = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly act: AnyAct
  /** The member that a parameter of the path stands for, where the names differ. */
  readonly params?: Readonly<Record<string, string>>
  /** Members from the query; of GET and DELETE all that the path does not name. */
  readonly query?: readonly string[]
  /** Members from headers, by the header's name. */
  readonly headers?: Readonly<Record<string, string>>
  /** Members that this address does not take. */
  readonly without?: readonly string[]
  /** Members of a body that it does not know are ignored; elsewhere they are refused. */
  readonly lenient?: true
}

const paramsIn = ({ path, params = {} }: Sources): readonly (readonly [param: string, member: string])[] =>
  [...path.matchAll(/[:*](\w+)/g)].map(([, param = '']) => [param, params[param] ?? param])

const bodyless = ({ method }: Sources) => method === 'GET' || method === 'DELETE'

/** The members that a row takes from the query, and those from the body. */
export const membersOf = (row: Sources) => {
  const elsewhere = [...paramsIn(row).map(([, member]) => member), ...Object.values(row.headers ?? {})]
  const left = Object.keys(row.act.input).filter(
    (name) => !elsewhere.includes(name) && row.without?.includes(name) !== true,
  )
  const query = bodyless(row) ? (row.query ?? left) : (row.query ?? [])
  return { query, body: bodyless(row) ? [] : left.filter((name) => !query.includes(name)) }
}

/** The schema of a row's body; undefined if it has none. */
export const bodySchema = (row: Sources): z.ZodType | undefined => {
  const { body } = membersOf(row)
  if (body.length === 0) return undefined
  return bodyOf(row.act, body, row.lenient === true ? 'loose' : 'refused')
}

type Request = {
  readonly params: Readonly<Record<string, string>>
  readonly query: ReadonlyMap<string, string>
  readonly header: (name: string) => string | undefined
  /** Called only by rows that have a body. */
  readonly body: () => Promise<JsonObject>
}

/**
 * The act's input from a request. A body cannot bring what the address names, since such members are then unknown: they
 * stay where they are, and the act refuses them.
 */
export const inputFrom = async (row: Sources, request: Request): Promise<JsonObject> => {
  const { query, body } = membersOf(row)
  const given = body.length === 0 ? {} : await request.body()
  const sent =
    row.lenient === true ? Object.fromEntries(Object.entries(given).filter(([n]) => body.includes(n))) : given
  const input: Record<string, JsonObject[string]> = { ...sent }
  const put = (name: string, value: string | undefined) => {
    if (value !== undefined) input[name] = value
  }
  const stranger = Object.keys(sent).find(
    (name) => Object.hasOwn(row.act.input, name) && !body.includes(name),
  )
  // Under a name that no act has, it is refused as what it is: a member that this address does not take.
  if (stranger !== undefined) input[`body.${stranger}`] = sent[stranger]
  for (const [param, member] of paramsIn(row)) put(member, request.params[param])
  for (const name of query) put(name, request.query.get(name))
  for (const [header, member] of Object.entries(row.headers ?? {})) put(member, request.header(header))
  return input
}
