/** Why a database cannot be opened: each cause names its fix. */
import { expect, test } from 'bun:test'
import { whyNotOpen } from './database-place.ts'

test.each([
  ['EACCES', 'give it the folder and its files (chown)'],
  ['SQLITE_READONLY_DIRECTORY', 'give it the folder and its files (chown)'],
  ['SQLITE_BUSY', 'another process has locked it'],
  ['SQLITE_FULL', 'the disk is full; make space'],
])('%s', (code, fix) => {
  const why = whyNotOpen('sqlite:./a.db', Object.assign(new Error('what the system says'), { code }))
  expect(why).toStartWith('sqlite:./a.db: ')
  expect(why).toContain(fix)
})
