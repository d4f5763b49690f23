/** The server's keyed hash: under TURNPIKE_SECRET and, during a change of secret, also under the other one. */

/** HMAC-SHA-256 in hex. */
export type KeyedHash<Text = string | Uint8Array> = ((text: Text) => string) & {
  /** Identifies a secret without revealing anything about it. */
  readonly id?: string
  /** The hash under the previous or next secret: what that secret made is still ours. */
  readonly before?: KeyedHash<Text>
}

/** Whether one of the secrets made this hash of the text. The comparison takes constant time. */
export const isOurs = (hash: KeyedHash<string>, text: string, given: string): boolean =>
  same(hash(text), given) || (hash.before !== undefined && same(hash.before(text), given))

const same = (right: string, given: string): boolean => {
  let different = right.length ^ given.length
  for (let at = 0; at < right.length; at++) different |= right.charCodeAt(at) ^ given.charCodeAt(at)
  return different === 0
}
