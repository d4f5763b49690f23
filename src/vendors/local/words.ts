/**
 * How the built-in models count: a token is a run of letters or digits, or one other character; white space belongs to
 * the token after it. Both kinds of run end after twelve characters, so that no text takes more than linear time.
 */
const TOKEN = /\s{0,12}(?:[\p{L}\p{N}]{1,12}|[^\s\p{L}\p{N}])|\s{12}/gu

/** The tokens of a text, one by one; joined, they are the text without its final white space. */
export function* tokensOf(text: string): Generator<string> {
  for (const [token] of text.matchAll(TOKEN)) yield token
}

/** How many tokens a text has; it stops counting at `most`. */
export const countTokens = (text: string, most = Number.POSITIVE_INFINITY): number =>
  firstTokens(text, most).tokens

/** The beginning of a text with at most this many tokens, and whether there are more. */
export const firstTokens = (text: string, most: number) => {
  let tokens = 0
  let end = 0
  for (const { 0: token, index } of text.matchAll(TOKEN)) {
    if (tokens === most) return { text: text.slice(0, end), tokens, cut: true }
    tokens++
    end = index + token.length
  }
  return { text: text.slice(0, end), tokens, cut: false }
}
