/**
 * Reasoning items. What we seal contains whole thoughts with their signatures, so that clients carry them back unread.
 * What a vendor of this dialect sealed is the signature of its own thought; the item's name comes with it, because the
 * vendor recognises the thought by that.
 */
import { isObject, type Json, type JsonObject, parseJson, present } from '../../core/json-body.ts'
import type { Thinking } from '../neutral.ts'
import { objectsOf, textOf } from '../request/json-members.ts'
import { readSignature, type Signature, writeSignature } from '../translate/signatures.ts'

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

/** Whether the thoughts were sealed by us, so that the vendor did not make this text. */
export const isSealed = (sealed: Json | undefined): boolean =>
  typeof sealed === 'string' && sealed.startsWith(MARK)

/** The reverse; a text that somebody else sealed gives no thoughts. */
const unsealThoughts = (sealed: string): readonly Thinking[] => {
  if (!isSealed(sealed)) return []
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

/** The thoughts of a reasoning item, whoever made it. */
export const thoughtsOf = (item: JsonObject): readonly Thinking[] => {
  const sealed = textOf(item.encrypted_content) ?? ''
  const own = unsealThoughts(sealed)
  if (own.length > 0) return own
  const text = [...objectsOf(item.summary), ...objectsOf(item.content)]
    .map((part) => textOf(part.text) ?? '')
    .join('\n\n')
  if (sealed === '') return text === '' ? [] : [{ type: 'thinking', text }]
  const thought = { type: 'thinking' as const, text, signature: signatureOf(item, sealed) }
  return [text === '' ? { ...thought, redacted: true } : thought]
}

const signatureOf = ({ id }: JsonObject, sealed: string): Signature => ({
  origin: 'responses',
  value: typeof id === 'string' && id !== '' ? `${id} ${sealed}` : sealed,
})

/** The item of a thought, for the kind of vendor that made it; undefined for any other. */
export const itemOfThought = ({ text, signature }: Thinking): JsonObject | undefined => {
  if (signature?.origin !== 'responses') return undefined
  const space = signature.value.indexOf(' ')
  return {
    type: 'reasoning',
    ...(space < 0 ? {} : { id: signature.value.slice(0, space) }),
    summary: text === '' ? [] : [{ type: 'summary_text', text }],
    encrypted_content: signature.value.slice(space + 1),
  }
}
