/**
 * Scripts in which each character is about one token (Chinese, Japanese, Korean, the scripts of India and South-East
 * Asia): everything that UTF-8 writes with three or more bytes. Counting them as letters would make estimates far too
 * low.
 */

/** What one such character counts for, in letters of an alphabet; about three letters make an output token. */
const DENSE_LETTERS = 3
/** Beyond the basic plane (emoji, rare characters) a character is often two tokens. */
const ASTRAL_LETTERS = 4

/** From this code point on UTF-8 uses three bytes. */
const DENSE_FROM = 0x800

/** The length of a text in letters, for estimates. */
export const lettersIn = (text: string): number => {
  let letters = text.length
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    if (unit < DENSE_FROM) continue
    // Half of a character beyond the basic plane.
    const half = (unit & 0xf800) === 0xd800
    letters += (half ? ASTRAL_LETTERS / 2 : DENSE_LETTERS) - 1
  }
  return letters
}

/** The same for a byte of UTF-8; continuation bytes count nothing. */
export const lettersOfByte = (byte: number): number => {
  if ((byte & 0xc0) === 0x80) return 0
  return byte >= 0xf0 ? ASTRAL_LETTERS : byte >= 0xe0 ? DENSE_LETTERS : 1
}

/** How much more a byte of input is worth here than a byte of an alphabet, where about four bytes make a token. */
export const denseSurplus = (bytes: Uint8Array): number => {
  let surplus = 0
  for (const byte of bytes) if (byte >= 0xe0) surplus += byte >= 0xf0 ? 4 : 1
  return surplus
}
