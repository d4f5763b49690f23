/** Rows of the sign-in library on our engines: the few statements it needs, with every name checked and every value bound. */
import { type Bind, binding, type Engine, once, type Row, statement } from '../engine/engine.ts'
import { countOf, onlyRow } from '../engine/row.ts'
import type { PeopleQuery, PeopleRow, PeopleRows, PeopleTest, PeopleValue } from './people-port.ts'

/** A name comes from the library's code, never from a request; any other form is a bug. */
const named = (column: string): string => {
  if (!/^[a-z][a-z_]{0,40}$/.test(column)) throw new Error(`'${column}' is no column of people`)
  return column
}

const one = (value: PeopleTest['value']): PeopleValue => {
  if (typeof value === 'object' && value !== null) throw new Error('a list where one value is compared')
  return value
}

const testOf = ({ column, is, value }: PeopleTest, bind: Bind): string => {
  const name = named(column)
  if (is === 'in' || is === 'not in') {
    const values = Array.isArray(value) ? value : [one(value)]
    if (values.length === 0) return is === 'in' ? '1 = 0' : '1 = 1'
    return `${name} ${is} (${values.map(bind).join(', ')})`
  }
  const single = one(value)
  if (single === null) return is === '=' ? `${name} is null` : `${name} is not null`
  const bound = bind(single)
  const text = `cast(${bound} as text)`
  if (is === 'begins') return `substr(${name}, 1, length(${text})) = ${text}`
  if (is === 'contains') return `replace(${name}, ${text}, '') <> ${name}`
  if (is === 'ends') return `substr(${name}, length(${name}) - length(${text}) + 1) = ${text}`
  return `${name} ${is} ${bound}`
}

const whereOf = (tests: readonly PeopleTest[], bind: Bind): string => {
  if (tests.length === 0) return ''
  const [either, every] = [tests.filter(({ or }) => or === true), tests.filter(({ or }) => or !== true)]
  const parts = every.map((test) => testOf(test, bind))
  if (either.length > 0) parts.push(`(${either.map((test) => testOf(test, bind)).join(' or ')})`)
  return ` where ${parts.join(' and ')}`
}

const plain = (row: Row): PeopleRow =>
  Object.fromEntries(
    Object.entries(row).map(([name, value]) => [
      name,
      typeof value === 'string' || value === null ? value : Number(value),
    ]),
  )

const selectOf = (table: string, { where, most, skip, by }: PeopleQuery) => {
  const { params, bind } = binding()
  const order = by === undefined ? '' : ` order by ${named(by.column)} ${by.down ? 'desc' : 'asc'}`
  const limit =
    most === undefined ? '' : ` limit ${bind(most)}${skip === undefined ? '' : ` offset ${bind(skip)}`}`
  return statement(`select * from ${table}${whereOf(where, bind)}${order}${limit}`, ...params)
}

export const peopleRows = (engine: Engine): PeopleRows => ({
  create: async (table, row) => {
    const { params, bind } = binding()
    const places = Object.values(row).map(bind)
    const names = Object.keys(row).map(named)
    const text = `insert into ${table} (${names.join(', ')}) values (${places.join(', ')}) returning *`
    return plain(onlyRow(await once(engine, 'control', text, ...params)))
  },
  find: async (table, query) => (await once(engine, 'control', selectOf(table, query))).map(plain),
  update: async (table, where, set) => {
    const { params, bind } = binding()
    const sets = Object.entries(set).map(([name, value]) => `${named(name)} = ${bind(value)}`)
    const text = `update ${table} set ${sets.join(', ')}${whereOf(where, bind)} returning *`
    return (await once(engine, 'control', text, ...params)).map(plain)
  },
  remove: async (table, where) => {
    const { params, bind } = binding()
    const text = `delete from ${table}${whereOf(where, bind)} returning *`
    return (await once(engine, 'control', text, ...params)).map(plain)
  },
  count: async (table, where) => {
    const { params, bind } = binding()
    const text = `select cast(count(*) as bigint) as many from ${table}${whereOf(where, bind)}`
    return countOf(onlyRow(await once(engine, 'control', text, ...params)), 'many')
  },
})
