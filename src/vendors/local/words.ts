/** How the built-in models count: a token is a run of letters or digits, or one other character; white space counts with what follows. */
const TOKEN = /\s*(?:[\p{L}\p{N}]{1,12}|[^\s\p{L}\p{N}])/gu

/** The tokens of a text; joined they are the text without its trailing white space. */
export const tokensOf = (text: string): readonly string[] => text.match(TOKEN) ?? []

export const countTokens = (text: string): number => tokensOf(text).length
