/** Finding content of a request that a dialect's reader has no place for, so that none is left out in silence. */
import { isObject, type Json } from '../core/json-body.ts'
import { objectsOf, textOf } from './json-members.ts'
import type { Strange } from './neutral.ts'

/** Parts of a list, each with its place and its `type`. */
export const strangeParts = (
  content: Json | undefined,
  at: string,
  known: (part: { readonly [name: string]: Json | undefined }) => boolean,
): readonly Strange[] =>
  Array.isArray(content) || isObject(content)
    ? [content].flat().flatMap((part: Json, index): Strange[] =>
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
export const strangeIn = (
  messages: Json | undefined,
  at: string,
  member: string,
  known: Parameters<typeof strangeParts>[2],
): readonly Strange[] =>
  objectsOf(messages).flatMap((message, index) =>
    strangeParts(message[member], `${at}[${index}].${member}`, known),
  )
