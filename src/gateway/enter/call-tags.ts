/** What a call is for: the tags in its header and its body, and those of its key. */
import { isObject, type JsonObject } from '../../core/json-body.ts'
import { invalid, must } from '../../core/refusal.ts'
import type { Key } from '../../tenancy/key.ts'
import {
  isTagName,
  isTagValue,
  TAGS_HEADER,
  TAGS_MAX,
  type Tags,
  tagsOfHeader,
  USER_TAG,
} from '../../tenancy/tags.ts'

type Said = {
  readonly key: Pick<Key, 'tags'>
  readonly header: string | undefined
  readonly body: JsonObject
}

/**
 * The tags of a call. What the header says goes before what the body says, and both before the key's own. A fixed tag of
 * the key stands whatever the body says, which was written for a vendor; a header that says otherwise is refused.
 */
export const tagsOfCall = ({ key: { tags: own }, header, body }: Said): Tags | undefined => {
  const asked = header === undefined ? {} : must(tagsOfHeader(header))
  const tags: Record<string, string> = { ...own?.tags, ...tagsOfBody(body), ...asked }
  for (const name of own?.fixed ?? []) {
    const fixed = own?.tags[name] ?? ''
    if (asked[name] !== undefined && asked[name] !== fixed)
      throw invalid(
        TAGS_HEADER,
        `The key says ${name}=${fixed} of all its calls; leave '${name}' out of '${TAGS_HEADER}'.`,
      )
    tags[name] = fixed
  }
  const named = Object.entries(tags)
  if (named.length > TAGS_MAX)
    throw invalid(
      TAGS_HEADER,
      `A call has at most ${TAGS_MAX} tags, with those of its key and its metadata; this one has ${named.length}.`,
    )
  return named.length === 0 ? undefined : tags
}

/** The members of a body that may say what its call is for. */
export const tagMembers = ['metadata', 'user', 'safety_identifier', 'labels'] as const

/**
 * The tags that a body says for its vendor: pairs of `metadata` (OpenAI) or `labels` (Gemini), and who the end user is:
 * `safety_identifier` or `user` (OpenAI), `metadata.user_id` (Anthropic). What is in no form of a tag is none. Sources:
 * the API references of OpenAI ("Create chat completion"), Anthropic ("Create a Message") and Gemini ("generateContent").
 */
const tagsOfBody = (body: JsonObject): Tags => {
  const { metadata, labels, safety_identifier, user } = body
  const { user_id, ...pairs } = isObject(metadata) ? metadata : isObject(labels) ? labels : {}
  const tags: Record<string, string> = {}
  for (const [name, value] of [
    ...Object.entries(pairs),
    [USER_TAG, safety_identifier ?? user ?? user_id] as const,
  ])
    if (typeof value === 'string' && isTagName(name) && isTagValue(value)) tags[name] = value
  return tags
}
