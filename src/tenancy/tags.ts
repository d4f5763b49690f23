/**
 * Tags: what a call is for, as pairs of a name and a value, such as team=red. An end user is the tag `user`. Budgets are
 * set on them; see docs/decisions/tags.md.
 */
import { isObject, type Json, type JsonObject } from '../core/json-body.ts'
import { invalid, type Refusal } from '../core/refusal.ts'

/** A call's tags, or those of a key. */
export type Tags = Readonly<Record<string, string>>

/** The tag that names an end user. */
export const USER_TAG = 'user'
/** The tag that a call under a sub-wallet has, for the month of a team. No caller can say it: it is no name of a tag. */
export const SUB_TAG = '@sub_wallet'
/** The value under which values beyond a budget's bound are counted. */
export const OTHER = 'other'
/** How many tags a call, or a key, has at most. */
export const TAGS_MAX = 16
/** The longest name and value, in characters: Anthropic bounds `metadata.user_id` by the same. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/
const VALUE_MAX = 256
const VALUE = /^[^\p{Cc}\p{Cs}]+$/u

export const isTagName = (name: string): boolean => NAME.test(name)
export const isTagValue = (value: string): boolean => value.length <= VALUE_MAX && VALUE.test(value)

export const TAG_FORM = `names of 1 to 64 letters, digits, _ . and -, values of 1 to ${VALUE_MAX} characters, at most ${TAGS_MAX} of them`

export const TAGS_HEADER = 'X-Turnpike-Tags'

const wrongHeader = (): Refusal =>
  invalid(TAGS_HEADER, `'${TAGS_HEADER}' must be like team=red,feature=search: ${TAG_FORM}, each name once.`)

/** The tags in a header such as `team=red,feature=search`; values may be percent-encoded, and must be for a comma. */
export const tagsOfHeader = (text: string): Tags | Refusal => {
  const tags: Record<string, string> = {}
  for (const pair of text.split(',')) {
    const at = pair.indexOf('=')
    const name = pair.slice(0, Math.max(at, 0)).trim()
    const value = decoded(pair.slice(at + 1).trim())
    if (!isTagName(name) || value === undefined || !isTagValue(value) || Object.hasOwn(tags, name))
      return wrongHeader()
    tags[name] = value
  }
  return Object.keys(tags).length > TAGS_MAX ? wrongHeader() : tags
}

const decoded = (text: string): string | undefined => {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

/** A tag that a report is about, of any value or of one. */
export type TagFilter = { readonly name: string; readonly value?: string }

/** Reads `team` or `team=red`; undefined if it is neither. */
export const tagFilterOf = (text: string): TagFilter | undefined => {
  const [name = '', ...rest] = text.split('=')
  if (!isTagName(name)) return undefined
  return rest.length === 0 ? { name } : { name, value: rest.join('=') }
}

/** The tags of a key, which calls with it have if they say nothing else; `fixed` are those that none can change. */
export type KeyTags = { readonly tags: Tags; readonly fixed: readonly string[] }

/** Reads the tags of a key in a body: values by name, or with `fixed` where no call may change one. */
export const readKeyTags = (value: Json): KeyTags | null | Refusal => {
  if (value === null) return null
  const wrong = invalid(
    'tags',
    `'tags' must be null or an object such as {"team": "red", "feature": {"value": "search", "fixed": true}}: ${TAG_FORM}.`,
  )
  if (!isObject(value)) return wrong
  const tags: Record<string, string> = {}
  const fixed: string[] = []
  for (const [name, said] of Object.entries(value)) {
    const {
      value: text,
      fixed: isFixed = false,
      ...more
    } = (isObject(said) ? said : { value: said }) as JsonObject
    if (!isTagName(name) || typeof text !== 'string' || !isTagValue(text)) return wrong
    if (typeof isFixed !== 'boolean' || Object.keys(more).length > 0) return wrong
    tags[name] = text
    if (isFixed) fixed.push(name)
  }
  return Object.keys(tags).length > TAGS_MAX ? wrong : { tags, fixed }
}

/** The tags of a key with those that a key above it fixes. */
export const withFixed = (own: KeyTags | undefined, { tags, fixed }: KeyTags): KeyTags | undefined =>
  fixed.length === 0
    ? own
    : {
        tags: { ...own?.tags, ...Object.fromEntries(fixed.map((name) => [name, tags[name] ?? ''])) },
        fixed: [...new Set([...(own?.fixed ?? []), ...fixed])],
      }

/** The same as a body would say it. */
export const shownKeyTags = ({ tags, fixed }: KeyTags) =>
  Object.fromEntries(
    Object.entries(tags).map(([name, value]) => [name, { value, fixed: fixed.includes(name) }]),
  )

/**
 * The part of a lease's path that says which budgets it counts under: a call's tags of these names, in one order, as
 * JSON; undefined where it has none of them.
 */
export const tagPathOf = (tags: Tags, budgeted: readonly string[]): string | undefined => {
  const named = budgeted.flatMap((name): readonly (readonly [string, string])[] => {
    const value = Object.hasOwn(tags, name) ? tags[name] : undefined
    return value === undefined ? [] : [[name, value]]
  })
  return named.length === 0 ? undefined : JSON.stringify(named)
}

/** The pairs of name and value in such a path. */
export const tagsOfPath = (path: string): readonly (readonly [tag: string, value: string])[] =>
  JSON.parse(path)
