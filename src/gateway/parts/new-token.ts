/** New keys: their random values, ids, and the part that is shown to people. */
import { randomBytes } from 'node:crypto'
import { cellOf, inCell } from '../../cells/cell-of.ts'

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'
const TOKEN_LETTERS = 43

/** A new key of this cell: 256 bits of randomness. Bytes that would make some letters likelier are drawn again. */
export const newToken = (cell?: string): string => `sk-${inCell(cell)}${newLetters()}`

/** A new credential of a machine in this cell. */
export const newMachineToken = (cell?: string): string => `tm-${inCell(cell)}${newLetters()}`

const newLetters = (): string => {
  let letters = ''
  while (letters.length < TOKEN_LETTERS)
    for (const byte of randomBytes(64))
      if (byte < 248 && letters.length < TOKEN_LETTERS) letters += LETTERS[byte % 62]
  return letters
}

/** The part of a token that is stored, so that people recognise it: its cell, if it names one, and a few letters. */
export const prefixOf = (token: string): string => token.slice(0, inCell(cellOf(token)).length + 10)
