/** Rows of another gateway's tables, from its database or from a JSON file with the same tables. */
import { readFile } from 'node:fs/promises'
import { z } from 'zod'
import { messageOf } from '../../core/message-of.ts'
import { readTables } from '../../store/elsewhere/read-tables.ts'
import { Failed } from '../run/run-command.ts'

/** What may be null, or lack in older versions. */
export const maybe = <Type extends z.ZodType>(type: Type) => type.nullish().transform((it) => it ?? undefined)

type Tables = Readonly<Record<string, z.ZodType>>
export type RowsOf<Them extends Tables> = { readonly [Name in keyof Them]: readonly z.output<Them[Name]>[] }

/** Where `from` is, without a password. */
const placeOf = (from: string): string => (from.includes('://') ? 'the database' : from)

/** What a JSON file has. Throws that it cannot be read. */
export const readJson = async (from: string): Promise<unknown> => {
  try {
    return JSON.parse(await readFile(from, 'utf8'))
  } catch (cause) {
    throw new Failed(`${from} cannot be read: ${messageOf(cause)}`)
  }
}

/**
 * All rows of the tables, of which `needed` must be there. Throws what cannot be read, with the table, the row and the column.
 */
export const readRows = async <Them extends Tables>(
  from: string,
  tables: Them,
  { needed, of }: { readonly needed: keyof Them & string; readonly of: string },
): Promise<RowsOf<Them>> => {
  const cannot = (why: unknown): Failed => new Failed(`${placeOf(from)} cannot be read: ${messageOf(why)}`)
  const found = await readTables(from, Object.keys(tables)).catch((cause: unknown) => {
    throw cannot(cause)
  })
  const all: Readonly<Record<string, unknown>> = Object(found ?? (await readJson(from)))
  if (!Array.isArray(all[needed]))
    throw new Failed(`${placeOf(from)} has no table ${needed}; is it the database of ${of}?`)
  const read = Object.entries(tables).map(([name, row]) => {
    const rows = z.array(row).safeParse(all[name] ?? [])
    if (rows.success) return [name, rows.data]
    const [issue] = rows.error.issues
    throw cannot(`${name}, row ${String(issue?.path[0])}, ${String(issue?.path[1])}: ${issue?.message}`)
  })
  return Object.fromEntries(read)
}
