/** Cells of a CSV: no name in them runs as a formula, in whatever country's spreadsheet. */
import { expect, test } from 'bun:test'
import { csvOf } from './csv.ts'

test.each([
  ['Acme', 'Acme'],
  ['=1+1', "'=1+1"],
  ['a;=1+1', "a;'=1+1"],
  ['a;  +cmd|-x', "a;  '+cmd|'-x"],
  ['a\t@sum', "a\t'@sum"],
  ['a\n=1', `"a\n'=1"`],
  ['-12.5', '-12.5'],
  ['a-b=c@d', 'a-b=c@d'],
  [-3, '-3'],
])('%j → %j', (value, cell) => {
  expect(csvOf({ name: '', head: ['a'], rows: [[value]] }).text).toBe(`\ufeffa\r\n${cell}\r\n`)
})
