/**
 * Finds request content that its dialect's reader does not know, so that the call is refused instead of sent without
 * it.
 */
import { isObject, type Json } from '../../core/json-body.ts'
import type { UnknownContent } from '../neutral.ts'
import { objectsOf, textOf } from './json-members.ts'

/** Parts of a list, each with its place and its `type`. */
export const unknownParts = (
  content: Json | undefined,
  at: string,
  known: (part: { readonly [name: string]: Json | undefined }) => boolean,
): readonly UnknownContent[] =>
  Array.isArray(content) || isObject(content)
    ? [content].flat().flatMap((part: Json, index): UnknownContent[] =>
        isObject(part) && known(part)
          ? []
          : [
              {
                param: `${at}[${index}]`,
                what: `content of type '${isObject(part) ? (textOf(part.type) ?? Object.keys(part).join(', ')) : typeof part}'`,
              },
            ],
      )
    : []

/** The same over the members `member` of a list of messages. */
export const unknownIn = (
  messages: Json | undefined,
  at: string,
  member: string,
  known: Parameters<typeof unknownParts>[2],
): readonly UnknownContent[] =>
  objectsOf(messages).flatMap((message, index) =>
    unknownParts(message[member], `${at}[${index}].${member}`, known),
  )
