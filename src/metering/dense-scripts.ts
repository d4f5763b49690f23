/**
 * Scripts in which a character is about a token of its own (Chinese, Japanese, Korean, the scripts of India and South-East
 * Asia): all that UTF-8 writes with three bytes and more. Estimates that count them as letters would be far too low.
 */

/** What one such character counts for, in letters of an alphabet: some three of those make a token of output. */
const DENSE_LETTERS = 3
/** Beyond the basic plane (emoji, rare signs) a character is often two tokens. */
const ASTRAL_LETTERS = 4

/** From here on UTF-8 writes three bytes. */
const DENSE_FROM = 0x800

/** The length of a text for estimates, in letters. */
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

/** The same for a byte of UTF-8: bytes that go on a character count nothing. */
export const lettersOfByte = (byte: number): number => {
  if ((byte & 0xc0) === 0x80) return 0
  return byte >= 0xf0 ? ASTRAL_LETTERS : byte >= 0xe0 ? DENSE_LETTERS : 1
}

/** What bytes of input are worth more than bytes of an alphabet, where some four of those make a token. */
export const denseSurplus = (bytes: Uint8Array): number => {
  let surplus = 0
  for (const byte of bytes) if (byte >= 0xe0) surplus += byte >= 0xf0 ? 4 : 1
  return surplus
}
