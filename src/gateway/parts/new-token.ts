/** New keys: their random values, ids, and the part that is shown to people. */
import { randomBytes } from 'node:crypto'

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'
const TOKEN_LETTERS = 43

/** A new key: 256 bits of randomness. Bytes that would make some letters likelier are drawn again. */
export const newToken = (): string => {
  let token = ''
  while (token.length < TOKEN_LETTERS)
    for (const byte of randomBytes(64))
      if (byte < 248 && token.length < TOKEN_LETTERS) token += LETTERS[byte % 62]
  return `sk-${token}`
}

/** The part of a token that is stored, so that people recognise it. */
export const prefixOf = (token: string): string => token.slice(0, 10)

export const newId = (kind: 'key' | 'wal' | 'org' | 'mac' | 'dir'): string =>
  `${kind}_${Bun.randomUUIDv7().replaceAll('-', '')}`
