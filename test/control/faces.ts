/** An act as each face is asked for it: the same input in, and out what it said, with amounts in one form. */
import { actRows } from '../../src/console/acts.ts'
import { type AnyAct, perform } from '../../src/control/act.ts'
import { type MoneyForm, membersOf, type Sources, written } from '../../src/control/face.ts'
import { whoIsCommand } from '../../src/control/who.ts'
import { isObject, type JsonObject } from '../../src/core/json-body.ts'
import { nanoFromDecimal, nanoFromNumber } from '../../src/core/money.ts'
import { Refusal } from '../../src/core/refusal.ts'
import { adminRows } from '../../src/http/account/admin.ts'
import { controlRows } from '../../src/http/account/control.ts'
import type { TestConsole } from '../console/rig.ts'

export type Outcome =
  | { readonly value: unknown }
  | { readonly code: string; readonly message: string; readonly status: number }

/** Undefined where the face does not have the act. */
export type Ask = (act: AnyAct, input: JsonObject) => Promise<Outcome | undefined>

type Row = Sources & { readonly data?: string }

type ConsoleRow = { readonly act: AnyAct; readonly house?: true; readonly without?: readonly string[] }

const consoleRows = Object.entries<ConsoleRow>(actRows).map(([at, { act, house, without = [] }]) => {
  const [method = '', path = ''] = at.split(' ')
  const bySession = house ? [] : ['organisation', 'wallet', 'idempotency_key', 'if_version']
  const row: Row = {
    act,
    method: method as Row['method'],
    path: `/console/api${path}`,
    without: [...bySession, ...without],
  }
  return { ...row, house: house === true }
})

export const rowsOfFaces = {
  key: controlRows as readonly Row[],
  machine: adminRows as readonly Row[],
  person: consoleRows.filter(({ house }) => !house) as readonly Row[],
  operator: consoleRows as readonly Row[],
}

/** Acts that the console has for operators alone, who do them on the whole house. */
export const ofTheHouse = (act: AnyAct): boolean =>
  consoleRows.some((row) => row.act === act) && !rowsOfFaces.person.some((row) => row.act === act)

/** The request of a row for the input; members that the row takes nowhere go into the body, or else the query. */
const requestOf = (row: Row, input: JsonObject) => {
  const left = { ...input }
  const take = (name: string): string => {
    const value = left[name]
    delete left[name]
    return typeof value === 'string' ? value : JSON.stringify(value)
  }
  const path = row.path.replaceAll(/:(\w+)/g, (_all, param: string) =>
    encodeURIComponent(take(row.params?.[param] ?? param)),
  )
  const headers = Object.entries(row.headers ?? {}).flatMap(([header, member]) =>
    left[member] === undefined ? [] : [[header, take(member)] as const],
  )
  const members = membersOf(row)
  const inQuery = Object.keys(left).filter(
    (name) => members.query.includes(name) || members.body.length === 0,
  )
  const query = new URLSearchParams(Object.fromEntries(inQuery.map((name) => [name, take(name)])))
  return {
    method: row.method,
    url: `http://turnpike.test${path}${query.size === 0 ? '' : `?${query}`}`,
    headers: Object.fromEntries(headers),
    ...(members.body.length === 0 ? {} : { body: JSON.stringify(left) }),
  }
}

/** Every amount as nano-USD, in a text: members that end in `_usd`. */
const inNano = (value: unknown, money: MoneyForm, name = ''): unknown => {
  if (Array.isArray(value)) return value.map((one) => inNano(one, money))
  if (isObject(value as never))
    return Object.fromEntries(
      Object.entries(value as JsonObject).map(([member, one]) => [member, inNano(one, money, member)]),
    )
  if (!name.endsWith('_usd') || value === null) return value
  const amount = money === 'number' ? nanoFromNumber(Number(value)) : nanoFromDecimal(String(value))
  return `${amount} nano-USD`
}

const outcomeOf = async (response: Response, { data }: Row, money: MoneyForm): Promise<Outcome> => {
  const body = (await response.json()) as JsonObject & { error?: { code: string; message: string } }
  if (!response.ok && body.error !== undefined)
    return { code: body.error.code, message: body.error.message, status: response.status }
  return { value: inNano(data === undefined ? body : body.data, money) }
}

/** Asks over HTTP, with these headers, from this address. */
export const overHttp =
  (
    it: TestConsole,
    face: keyof typeof rowsOfFaces,
    credential: Readonly<Record<string, string>>,
    peer?: string,
  ): Ask =>
  async (act, input) => {
    const row = rowsOfFaces[face].find((one) => one.act === act)
    if (row === undefined) return undefined
    const { url, headers, ...request } = requestOf(row, input)
    const all = { ...credential, ...headers, 'content-type': 'application/json' }
    const response = await it.fetchFrom(peer, new Request(url, { ...request, headers: all }))
    return outcomeOf(response, row, face === 'key' ? 'number' : 'text')
  }

/** The act in the name of a command. */
export const byCommandOf =
  (it: TestConsole): Ask =>
  async (act, input) => {
    try {
      const value = await perform(
        { ...it.gateway, origin: 'http://turnpike.test' },
        whoIsCommand('law'),
        act,
        () => input,
      )
      return { value: inNano(written(value, 'text'), 'text') }
    } catch (thrown) {
      if (thrown instanceof Refusal)
        return { code: thrown.code, message: thrown.message, status: thrown.status }
      throw thrown
    }
  }

/** Every act of some face. */
export const everyAct: readonly AnyAct[] = [
  ...new Set(Object.values(rowsOfFaces).flatMap((rows) => rows.map(({ act }) => act))),
].sort((a, b) => (a.name < b.name ? -1 : 1))
