/** The texts that a hook gets, what it may answer, and the JSON with the texts that it gave instead. */
import { isObject, parseJson } from '../core/json-body.ts'
import { isBinary, type JsonText, saidBy, textsIn, withTexts } from './json-texts.ts'

/** Members with names and marks of the protocol; other words under them are texts, and so are names that are none. */
const MARKS = new Set([
  'id',
  'type',
  'role',
  'model',
  'object',
  'name',
  'status',
  'finish_reason',
  'stop_reason',
  'finishReason',
  'tool_call_id',
  'tool_use_id',
  'call_id',
  'system_fingerprint',
  'service_tier',
])
const MARK = /^[\w.:/-]{1,64}$/

/** Members under which callers and models say what they like: there, names and marks are words too. */
const FREE = new Set(['args', 'arguments', 'input', 'metadata', 'response', 'result'])

/** Whether a text is in a member that is free; at the top these are the protocol's own. */
const isFree = (path: readonly string[]): boolean =>
  path.at(-2) === 'properties' ||
  path.some((name, at) => at < path.length - 1 && FREE.has(name) && (at > 0 || name === 'metadata'))

type HookTexts = {
  readonly texts: readonly string[]
  /** The JSON with these texts in their place. */
  readonly with: (texts: readonly string[]) => string
}

export const hookTextsOf = (json: string): HookTexts => {
  const found: JsonText[] = []
  const texts: string[] = []
  for (const text of textsIn(json)) {
    if (text.kind === 'number') continue
    const said = saidBy(json.slice(text.start, text.end))
    const mayMark = !isFree(text.path) && (text.kind === 'name' || MARKS.has(text.path.at(-1) ?? ''))
    if (said === '' || isBinary(said) || (mayMark && MARK.test(said))) continue
    found.push(text)
    texts.push(said)
  }
  return {
    texts,
    with: (given) => withTexts(json, found, (_text, at) => (given[at] === texts[at] ? undefined : given[at])),
  }
}

const REASON_MOST = 200

export type HookVerdict =
  | { readonly verdict: 'allow' }
  | { readonly verdict: 'block'; readonly reason?: string }
  | { readonly verdict: 'replace'; readonly texts: readonly string[] }

/** What a hook said about so many texts; undefined if it is nothing that a hook may say. */
export const readVerdict = (answer: string, count: number): HookVerdict | undefined => {
  const value = parseJson(answer)
  if (!isObject(value)) return undefined
  const { verdict, reason, texts, ...others } = value
  if (Object.keys(others).length > 0) return undefined
  if (verdict === 'allow') return reason === undefined && texts === undefined ? { verdict } : undefined
  if (verdict === 'block') {
    if (texts !== undefined || (reason !== undefined && typeof reason !== 'string')) return undefined
    return reason === undefined ? { verdict } : { verdict, reason: reason.slice(0, REASON_MOST) }
  }
  if (verdict !== 'replace' || reason !== undefined || !Array.isArray(texts)) return undefined
  const given = texts.filter((text) => typeof text === 'string')
  return given.length === count && texts.length === count ? { verdict, texts: given } : undefined
}
