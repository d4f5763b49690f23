/** Reasoning items: their sealed content holds whole thoughts with their signatures, so that clients carry them back unread. */
import { isObject, parseJson } from '../../core/json-body.ts'
import { objectsOf, present, textOf } from '../json-members.ts'
import type { Thinking } from '../neutral.ts'
import { readSignature, writeSignature } from '../signatures.ts'

const MARK = 'turnpike1.'

/** Thoughts as one opaque text. */
export const sealThoughts = (thoughts: readonly Thinking[]): string =>
  MARK +
  Buffer.from(
    JSON.stringify({
      thoughts: thoughts.map(({ text, redacted, signature }) =>
        present({
          text,
          redacted,
          signature: signature === undefined ? undefined : writeSignature(signature, 'chat'),
        }),
      ),
    }),
  ).toString('base64url')

/** The reverse; a text sealed by someone else has no thoughts for us. */
export const unsealThoughts = (sealed: string): readonly Thinking[] => {
  if (!sealed.startsWith(MARK)) return []
  const value = parseJson(Buffer.from(sealed.slice(MARK.length), 'base64url').toString('utf8'))
  if (!isObject(value)) return []
  return objectsOf(value.thoughts).map((thought) => {
    const signature = textOf(thought.signature)
    return present({
      type: 'thinking' as const,
      text: textOf(thought.text) ?? '',
      redacted: thought.redacted === true ? true : undefined,
      signature: signature === undefined ? undefined : readSignature(signature, 'chat'),
    })
  })
}
