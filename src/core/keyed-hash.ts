/** The keyed hash of the server: under TURNPIKE_SECRET, and, while that changes, under the other one too. */

/** HMAC-SHA-256 in hex. */
export type KeyedHash<Text = string | Uint8Array> = ((text: Text) => string) & {
  /** Tells one secret from another, and nothing of either. */
  readonly id?: string
  /** Under the secret of before, or of soon: what that made is still ours. */
  readonly before?: KeyedHash<Text>
}

/** Whether one of the secrets made this of the text. How long it takes tells nothing of what would be right. */
export const isOurs = (hash: KeyedHash<string>, text: string, given: string): boolean =>
  same(hash(text), given) || (hash.before !== undefined && same(hash.before(text), given))

const same = (right: string, given: string): boolean => {
  let different = right.length ^ given.length
  for (let at = 0; at < right.length; at++) different |= right.charCodeAt(at) ^ given.charCodeAt(at)
  return different === 0
}
