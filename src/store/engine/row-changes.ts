/**
 * Changes of many rows. To an engine behind a network they go in one statement, with all rows in JSON; in an engine inside
 * the process a statement for each row costs less (docs/decisions/statements.md).
 */
import type { Engine, Run, SqlDialect, Value } from './engine.ts'
import { textsOnce } from './texts.ts'

/** The values of a row, each the same type in all rows. */
type Values<Name extends string> = Readonly<Record<Name, string | number | null>>

/** Sends the change of these rows. Nothing is sent for none. */
type RowChange<Name extends string> = (
  engine: Engine,
  run: Run,
  rows: readonly Values<Name>[],
) => Promise<unknown>

/**
 * A change of rows with these values. Its text is made of what stands for a value, and of the rows, which may be joined to
 * others.
 */
export const rowChange = <Name extends string>(
  names: readonly Name[],
  text: (value: (name: Name) => string, rows: string, dialect: SqlDialect) => string,
): RowChange<Name> => {
  const texts = textsOnce((dialect) => ({
    all: text((name) => `e.value->>'${name}'`, `${dialect.each('$1')} e`, dialect),
    one: text((name) => `$${names.indexOf(name) + 1}`, '(select 1) e', dialect),
  }))
  return async (engine, run, rows) => {
    const { all, one } = texts(engine.dialect)
    if (rows.length === 0) return
    if (engine.inline === undefined) return run(all, [JSON.stringify(rows)])
    return Promise.all(
      rows.map((row) =>
        run(
          one,
          names.map((name): Value => row[name]),
        ),
      ),
    )
  }
}
