/** Which cell a credential belongs to, read from its text. */
import { expect, test } from 'bun:test'
import { newToken, prefixOf } from '../gateway/parts/new-token.ts'
import { CELL_NAME } from '../settings/cells.ts'
import { cellOf } from './cell-of.ts'

const HEX = 'a0'.repeat(32)
const LETTERS = `${'aB3'.repeat(14)}Z`

test('every credential that a cell makes carries its name, and none of others does', () => {
  for (const name of ['c', 'c2', 'eu1', 'abcdefgh']) {
    expect(cellOf(newToken(name))).toBe(name)
    expect(cellOf(`tm-${name}-${LETTERS}`)).toBe(name)
    expect(cellOf(`sk-${name}-${HEX}`)).toBe(name)
    expect(cellOf(`sk-${name}-trial${HEX}`)).toBe(name)
    expect(cellOf(`sk-at-${name}-key_0a_b-3f-kq1-${HEX}`)).toBe(name)
  }
  for (const token of [
    newToken(),
    `sk-${HEX}`,
    `sk-trial${HEX}`,
    `sk-at-key_0a_b-3f-kq1-${HEX}`,
    `tm-${LETTERS}`,
    // Keys of others that a house may have brought.
    `sk-proj-${'a-B_'.repeat(30)}`,
    `sk-or-v1-${HEX}`,
    `sk-ant-api03-${LETTERS}`,
    `sk-c2-${LETTERS}x`,
    `sk-C2-${LETTERS}`,
    `sk-2c-${LETTERS}`,
    `sk-abcdefghi-${LETTERS}`,
    `sk-c2-${LETTERS}\n`,
    `sk-c2-c3-${LETTERS}`,
    `sk-c2`,
    '',
  ])
    expect(cellOf(token)).toBeUndefined()
})

test('people recognise a key by its cell and the first letters behind it', () => {
  expect(prefixOf(`sk-${LETTERS}`)).toBe('sk-aB3aB3a')
  expect(prefixOf(`sk-c2-${LETTERS}`)).toBe('sk-c2-aB3aB3a')
  expect(prefixOf(`tm-abcdefgh-${LETTERS}`)).toBe('tm-abcdefgh-aB3aB3a')
})

test('a cell has a short name in small letters, and not that of access tokens', () => {
  for (const name of ['c1', 'a', 'abcdefgh']) expect(CELL_NAME.test(name)).toBe(true)
  for (const name of ['', 'at', 'C1', '1c', 'abcdefghi', 'c-1', 'c1\n'])
    expect(CELL_NAME.test(name)).toBe(false)
})
