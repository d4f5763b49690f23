/**
 * Rows as values: the columns of a kind of row are declared once, each with its type, and reading and inserting follow
 * from that. Used everywhere except in the group commit, which binds its values by position; see
 * docs/decisions/statements.md.
 */
import type { Json } from '../../core/json-body.ts'
import type { Nano } from '../../core/money.ts'
import { binding, type Row, type Statement, statement, type Value } from './engine.ts'
import { countOf, nanoOf, textOf, truthOf } from './row.ts'

type Column<T, Sometimes extends boolean = boolean> = {
  readonly name: string
  /** Null in the database means an absent member of the value. */
  readonly sometimes: Sometimes
  readonly read: (row: Row, name: string) => T
  readonly write: (value: T) => Value
}

const same = <T extends Value>(value: T): Value => value

export const text = (name: string): Column<string, false> => ({
  name,
  sometimes: false,
  read: textOf,
  write: same,
})

/** An amount of money. */
export const nano = (name: string): Column<Nano, false> => ({
  name,
  sometimes: false,
  read: nanoOf,
  write: same,
})

/** A count or an instant: a safe integer. */
export const integer = (name: string): Column<number, false> => ({
  name,
  sometimes: false,
  read: countOf,
  write: same,
})

/** 0 or 1. */
export const truth = (name: string): Column<boolean, false> => ({
  name,
  sometimes: false,
  read: truthOf,
  write: (value) => (value ? 1 : 0),
})

/** One of a few words; any other is a bug, or was written by a newer program, and throws. */
export const oneOf = <const Word extends string>(
  name: string,
  words: readonly Word[],
): Column<Word, false> => ({
  name,
  sometimes: false,
  read: (row) => {
    const word = words.find((one) => one === row[name])
    if (word === undefined) throw new Error(`column ${name} has the unknown value ${row[name]}`)
    return word
  },
  write: same,
})

/** JSON in a text that only this program writes: `read` gives it its type. */
export const json = <T>(name: string, read: (value: Json) => T): Column<T, false> => ({
  name,
  sometimes: false,
  read: (row) => read(JSON.parse(textOf(row, name))),
  write: (value) => JSON.stringify(value),
})

/** A column that may be null. */
export const maybe = <T>(column: Column<T, false>): Column<T, true> => ({ ...column, sometimes: true })

/** A column of any type. */
type AnyColumn = {
  readonly name: string
  readonly sometimes: boolean
  readonly read: (row: Row, name: string) => unknown
  readonly write: (value: never) => Value
}

type Sure = { readonly sometimes: false }

type Holds<C> = C extends Column<infer T> ? T : never

/** The value of a row with these columns. */
export type RowOf<C extends object> = {
  readonly [Name in keyof C as C[Name] extends Sure ? Name : never]: Holds<C[Name]>
} & {
  readonly [Name in keyof C as C[Name] extends Sure ? never : Name]?: Holds<C[Name]>
}

type Given<C extends object> = { readonly [Name in keyof C]?: Holds<C[Name]> | undefined }

/** Columns that the database computes: an expression, which may bind values at positions of its own. */
type Computed = Readonly<Record<string, string | ((bind: (value: Value) => string) => string)>>

type Kind<C extends object> = {
  /** Reads a row that has all these columns, and perhaps others. */
  readonly read: (row: Row) => RowOf<C>
  /** Inserts the given members (undefined ones as null), and what is computed. */
  readonly insert: (table: string, given: Given<C>, computed?: Computed) => Statement
}

/** A kind of row. */
export const rowsOf = <const C extends { readonly [Name in keyof C]: AnyColumn }>(columns: C): Kind<C> => {
  const all: readonly (readonly [string, AnyColumn])[] = Object.entries<AnyColumn>(columns)
  const read = (row: Row): RowOf<C> => {
    const value: Record<string, unknown> = {}
    for (const [member, { name, sometimes, read: readColumn }] of all) {
      const held = row[name]
      if (!sometimes || (held !== null && held !== undefined)) value[member] = readColumn(row, name)
    }
    return value as RowOf<C>
  }
  const insert = (table: string, given: Given<C>, computed: Computed = {}): Statement => {
    const names: string[] = []
    const places: string[] = []
    const { params, bind } = binding()
    const held: Readonly<Record<string, unknown>> = given
    for (const [member, { name, write }] of all) {
      if (!(member in held)) continue
      const value = held[member]
      names.push(name)
      places.push(bind(value === undefined ? null : write(value as never)))
    }
    for (const [name, made] of Object.entries(computed)) {
      names.push(name)
      places.push(typeof made === 'string' ? made : made(bind))
    }
    return statement(`insert into ${table} (${names.join(', ')}) values (${places.join(', ')})`, ...params)
  }
  return { read, insert }
}

/** The statement with an addition, such as what to do on a conflict. */
export const followedBy = ({ text: first, params }: Statement, more: string): Statement => ({
  text: `${first} ${more}`,
  params,
})
