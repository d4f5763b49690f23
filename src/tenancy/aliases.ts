/** A key's own names for models, as a body sets them and as a call uses them. */
import { isObject, type Json } from '../core/json-body.ts'
import { invalid, type Refusal } from '../core/refusal.ts'
import type { Aliases, Key } from './key.ts'

const MOST = 100
/** Letters, marks, digits, punctuation, symbols and spaces: everything that is visible in a list. */
const printable = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]{1,64}$/u

/**
 * Reads the member `aliases`: all aliases that the key is to have, null for none. It does not check whether the models
 * are sold.
 */
export const readAliases = (value: Json): Aliases | null | Refusal => {
  if (value === null) return null
  if (!isObject(value))
    return malformed('must be an object such as {"fast": "<a model\'s id>"}, or null for none')
  const read: [string, string][] = []
  for (const [alias, model] of Object.entries(value)) {
    if (!printable.test(alias)) return malformed('takes names of 1 to 64 printable characters')
    if (typeof model !== 'string') return malformed(`must name a model by its id for '${alias}'`)
    read.push([alias, model])
  }
  if (read.length > MOST) return malformed(`takes ${MOST} names at most, not ${read.length}`)
  return read.length === 0 ? null : Object.fromEntries(read)
}

const malformed = (what: string): Refusal => invalid('aliases', `'aliases' ${what}.`)

/** The model that a name in the key's call stands for; the key's own alias wins over anything else with that name. */
export const nameFor = ({ aliases }: Pick<Key, 'aliases'>, name: string): string =>
  aliases !== undefined && Object.hasOwn(aliases, name) ? (aliases[name] ?? name) : name
