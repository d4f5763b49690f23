/**
 * Base64url in its only canonical spelling: no padding, no white space, no spare bits. Other spellings of the same
 * bytes are refused.
 */

/** The bytes; undefined when the text is not their canonical spelling. */
export const bytesOf = (text: string): Uint8Array | undefined => {
  const bytes = Buffer.from(text, 'base64url')
  return bytes.length > 0 && bytes.toString('base64url') === text ? bytes : undefined
}

export const base64url = (data: string | Uint8Array): string =>
  (typeof data === 'string' ? Buffer.from(data) : data).toBase64({ alphabet: 'base64url', omitPadding: true })
