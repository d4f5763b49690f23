/** The header that names what did not reach the other side: members of the call, and of an answer in one piece. */
import type { Trace } from './trace.ts'

/** Adds names to the answer's header; without names the header stays as it is. */
export const addNotCarried = ({ headers }: Trace, names: readonly string[]): void => {
  const before = headers['x-not-carried']
  const all = [...(before === undefined ? [] : [before]), ...shortened(names.map(asToken))]
  if (all.length > 0) headers['x-not-carried'] = all.join(', ')
}

/** Longer lists would not fit the headers that proxies accept; no honest request has so many. */
const NAMES_MAX = 60

const shortened = (names: readonly string[]): readonly string[] =>
  names.length <= NAMES_MAX ? names : [...names.slice(0, NAMES_MAX), `and ${names.length - NAMES_MAX} more`]

/** Member names, escaped for a header. */
const asToken = (name: string): string => name.replaceAll(/[^\w .-]/g, '?').slice(0, 60)
