/** Statements' texts, which depend only on the engine: made once for each, so that prepared statements are found by them. */
import type { SqlDialect } from './engine.ts'

/** Texts in the engine's dialect; `make` runs once for each engine. */
export const textsOnce = <Texts>(make: (dialect: SqlDialect) => Texts): ((dialect: SqlDialect) => Texts) => {
  const made = new WeakMap<SqlDialect, Texts>()
  return (dialect) => {
    const known = made.get(dialect)
    if (known !== undefined) return known
    const texts = make(dialect)
    made.set(dialect, texts)
    return texts
  }
}
