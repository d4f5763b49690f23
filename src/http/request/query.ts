/**
 * The query of an address. An unknown or repeated parameter is refused, so that it never silently becomes a default.
 */
import { invalid, type Refusal } from '../../core/refusal.ts'
import { storable } from '../../core/storable.ts'

/**
 * Reads a query of known parameters, each at most once; what no store could hold finds nothing there. `beta=true`, with which
 * official clients mark what is new at their own vendor, changes nothing here.
 */
export const readQuery = <Name extends string>(
  query: string,
  known: readonly Name[],
): ReadonlyMap<Name, string> | Refusal => {
  const read = new Map<Name, string>()
  for (const [name, value] of new URLSearchParams(query)) {
    if (name === 'beta' && value === 'true') continue
    const found = known.find((one) => one === name)
    if (found === undefined)
      return invalid(name, `'${name}' is not a parameter of this address; those are ${known.join(', ')}.`)
    if (read.has(found)) return invalid(name, `'${name}' is given twice.`)
    read.set(found, storable(value))
  }
  return read
}

/** `true` or `false`; false where it is absent. */
export const readTruth = (name: string, text: string | undefined): boolean | Refusal =>
  text === undefined || text === 'false'
    ? false
    : text === 'true' || invalid(name, `'${name}' must be true or false.`)
