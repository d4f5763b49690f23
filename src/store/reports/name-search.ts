/**
 * Searching names without regard to upper and lower case. SQLite's `lower` knows the letters of English only, and
 * PostgreSQL's those of the database's locale; so the other letters of the search are folded in the names as well.
 */
import type { Value } from '../engine/engine.ts'

/** Each costs a `replace` for each column; the expression may not grow without bound. */
const LETTERS_MAX = 32

type Letter = { readonly upper: string; readonly lower: string }

/** The letters beyond ASCII in a text in lower case, with their capitals. */
const lettersIn = (text: string): readonly Letter[] =>
  [...new Set(text)]
    .map((lower) => ({ lower, upper: lower.toUpperCase() }))
    // The capital of some letters is two, as in ß.
    .filter(({ lower, upper }) => lower > '\x7f' && upper !== lower && upper.toLowerCase() === lower)
    .slice(0, LETTERS_MAX)

/** Returns the condition that a column contains the text. */
export const containing = (search: string, bind: (value: Value) => string): ((column: string) => string) => {
  // Letter by letter, because the end of a word changes some (Σ).
  const text = Array.from(search, (letter) => letter.toLowerCase()).join('')
  const piece = `cast(${bind(text)} as text)`
  const letters = lettersIn(text).map(({ upper, lower }) => [bind(upper), bind(lower)] as const)
  const folded = (column: string) =>
    letters.reduce((names, [upper, lower]) => `replace(${names}, ${upper}, ${lower})`, `lower(${column})`)
  return (column) => `replace(${folded(column)}, ${piece}, '') <> ${folded(column)}`
}
