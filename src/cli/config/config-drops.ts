/** What a changed configuration no longer has. A file that was emptied or cut by mistake must not sell at other prices. */
import { isObject } from '../../core/json-body.ts'
import type { Config } from './config.ts'
import type { Summary } from './config-summary.ts'

/** Members of turnpike.yaml that were there before, by their paths; of a member that is gone, only that one. */
const goneFrom = (before: unknown, after: unknown, above = ''): readonly string[] => {
  if (!isObject(before)) return []
  return Object.entries(before).flatMap(([name, member]) => {
    if (member === undefined) return []
    const path = `${above}${name}`
    const now = isObject(after) ? after[name] : undefined
    return now === undefined ? [path] : goneFrom(member, now, `${path}.`)
  })
}

type Sold = { readonly summary: Summary; readonly config: Pick<Config, 'file'> }

const SOLD = /^(vendor|model) /

/** What is gone, one name each: members of the file, and vendors and models that are no longer sold. */
export const dropsBetween = (before: Sold, after: Sold): readonly string[] => [
  ...goneFrom(before.config.file, after.config.file).map((path) => `${path} of turnpike.yaml`),
  ...[...before.summary.keys()].filter((name) => SOLD.test(name) && !after.summary.has(name)),
]
