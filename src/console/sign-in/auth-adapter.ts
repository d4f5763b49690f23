/** Maps the sign-in library's rows to our store: its tables and columns to our names, its operators to ours. */
import { type CleanedWhere, createAdapterFactory } from 'better-auth/adapters'
import type {
  PeopleRow,
  PeopleRows,
  PeopleTable,
  PeopleTest,
  PeopleValue,
} from '../../store/people/people-port.ts'

const tables: Readonly<Record<string, PeopleTable>> = {
  user: 'person',
  session: 'person_session',
  account: 'person_account',
  verification: 'person_verification',
  twoFactor: 'person_totp',
  passkey: 'person_passkey',
}

const tableOf = (model: string): PeopleTable => {
  const table = tables[model]
  if (table === undefined) throw new Error(`the sign-in library asks for the unknown table '${model}'`)
  return table
}

const columnOf = (field: string): string => field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
const fieldOf = (column: string): string =>
  column.replace(/_([a-z])/g, (_all, letter: string) => letter.toUpperCase())

const storedValue = (value: unknown): PeopleValue => {
  if (value === null || value === undefined) return null
  if (typeof value === 'boolean') return value ? 1 : 0
  if (value instanceof Date) return value.toISOString()
  return typeof value === 'number' ? value : String(value)
}

const rowOf = (data: object): PeopleRow =>
  Object.fromEntries(Object.entries(data).map(([field, value]) => [columnOf(field), storedValue(value)]))

/** The result has the fields of the row; the library converts texts to dates and numbers to booleans. */
const dataOf = (row: PeopleRow): Record<string, unknown> =>
  Object.fromEntries(Object.entries(row).map(([column, value]) => [fieldOf(column), value]))

const operators = {
  eq: '=',
  ne: '<>',
  lt: '<',
  lte: '<=',
  gt: '>',
  gte: '>=',
  in: 'in',
  not_in: 'not in',
  contains: 'contains',
  starts_with: 'begins',
  ends_with: 'ends',
} as const

const testsOf = (where: readonly CleanedWhere[] = []): readonly PeopleTest[] =>
  where.map(({ field, operator, value, connector }) => ({
    column: columnOf(field),
    is: operators[operator ?? 'eq'],
    value: Array.isArray(value) ? value.map(storedValue) : storedValue(value),
    or: connector === 'OR',
  }))

export const peopleAdapter = (people: PeopleRows) =>
  createAdapterFactory({
    config: {
      adapterId: 'turnpike',
      supportsBooleans: false,
      supportsDates: false,
      supportsJSON: false,
      supportsNumericIds: false,
      transaction: false,
    },
    // The library names the type of each answer; nothing here could check it.
    adapter: () => ({
      create: async ({ model, data }) => dataOf(await people.create(tableOf(model), rowOf(data))) as never,
      findOne: async ({ model, where }) => {
        const [row] = await people.find(tableOf(model), { where: testsOf(where), most: 1 })
        return (row === undefined ? null : dataOf(row)) as never
      },
      findMany: async ({ model, where, limit, offset, sortBy }) =>
        (
          await people.find(tableOf(model), {
            where: testsOf(where),
            most: limit,
            ...(offset === undefined ? {} : { skip: offset }),
            ...(sortBy === undefined
              ? {}
              : { by: { column: columnOf(sortBy.field), down: sortBy.direction === 'desc' } }),
          })
        ).map(dataOf) as never,
      update: async ({ model, where, update }) => {
        const [row] = await people.update(tableOf(model), testsOf(where), rowOf(Object(update)))
        return (row === undefined ? null : dataOf(row)) as never
      },
      updateMany: async ({ model, where, update }) =>
        (await people.update(tableOf(model), testsOf(where), rowOf(update))).length,
      delete: async ({ model, where }) => {
        await people.remove(tableOf(model), testsOf(where))
      },
      deleteMany: async ({ model, where }) => (await people.remove(tableOf(model), testsOf(where))).length,
      consumeOne: async ({ model, where }) => {
        const [row] = await people.remove(tableOf(model), testsOf(where))
        return (row === undefined ? null : dataOf(row)) as never
      },
      count: ({ model, where }) => people.count(tableOf(model), testsOf(where)),
    }),
  })
