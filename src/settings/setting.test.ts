/** Settings are parsed to their types once; all wrong ones are reported together. */
import { expect, test } from 'bun:test'
import { messageOf } from '../../test/cli/bad-setting.ts'
import {
  amount,
  duration,
  integer,
  list,
  listOfSome,
  matching,
  oneOf,
  onOff,
  pathOrOff,
  secret,
} from './form.ts'
import { settings } from './index.ts'
import { readSettings, rowsOf, type SettingGroup } from './setting.ts'

const rows = {
  port: { name: 'PORT', is: integer(0, 65_535), fallback: '8787', meaning: '' },
  waitMs: { name: 'WAIT', is: duration('seconds', 1, 10), fallback: '3', meaning: '' },
  inner: {
    price: { name: 'PRICE', is: amount(), fallback: '0.5', meaning: '' },
    key: { name: 'KEY', is: secret(/^.{4,}$/, 'at least 4 characters'), meaning: '' },
    mode: { name: 'MODE', is: oneOf('a', 'b', 'c'), fallback: 'b', meaning: '' },
  },
  flag: { name: 'FLAG', is: onOff(), fallback: 'on', meaning: '' },
  folder: { name: 'FOLDER', is: pathOrOff(), fallback: 'x', meaning: '' },
  names: { name: 'NAMES', is: list(matching(/^\w+$/, 'a name'), 'names'), fallback: '', meaning: '' },
  some: { name: 'SOME', is: listOfSome(matching(/^\w+$/, 'a name'), 'names'), fallback: 'z', meaning: '' },
} as const satisfies SettingGroup

test('rows are read to their types; what is not set, or empty, has its default or none', () => {
  const { inner, ...outer } = readSettings(rows, { PORT: '', NAMES: ' a, b,', FOLDER: 'off' })
  expect(outer).toEqual({
    port: 8787,
    waitMs: 3_000,
    flag: true,
    folder: undefined,
    names: ['a', 'b'],
    some: ['z'],
  })
  expect(inner).toEqual({ price: 500_000_000n, key: undefined, mode: 'b' })
  expect(readSettings(rows.inner.key, { KEY: 'abcd' })?.reveal()).toBe('abcd')
})

test.each([
  [{ PORT: '65536' }, "PORT must be a number from 0 to 65535, not '65536'"],
  [{ PORT: '-1' }, "PORT must be a number from 0 to 65535, not '-1'"],
  [{ PORT: '1e3' }, "PORT must be a number from 0 to 65535, not '1e3'"],
  [{ WAIT: '11' }, "WAIT must be a number of seconds from 1 to 10, not '11'"],
  [{ PRICE: '1.0000000001' }, "PRICE must be a decimal amount, not '1.0000000001'"],
  [{ MODE: 'd' }, "MODE must be a, b or c, not 'd'"],
  [{ FLAG: 'yes' }, "FLAG must be on or off, not 'yes'"],
  [{ NAMES: 'a, b!, c' }, "NAMES must be names, not 'b!'"],
  [{ SOME: 'a,' }, "SOME must be names, not ''"],
  [{ KEY: 'abc' }, 'KEY must be at least 4 characters'],
  [
    { PORT: 'x', KEY: 'abc' },
    "PORT must be a number from 0 to 65535, not 'x'\nKEY must be at least 4 characters",
  ],
])('%j → %s', (environment, message) => {
  expect(messageOf(() => readSettings(rows, environment))).toBe(message)
})

test('every default is allowed, and no variable has two rows', () => {
  expect(messageOf(() => readSettings(settings, {}))).toBe('accepted')
  const names = rowsOf(settings).map(({ name }) => name)
  expect(new Set(names).size).toBe(names.length)
})

test('a time to drain that no timer can count is refused', () => {
  const tried = (seconds: string) => messageOf(() => readSettings(settings, { DRAIN_SECONDS: seconds }))
  expect(tried('2147484')).toContain('from 0 to 2000000')
  expect(tried('2000000')).toBe('accepted')
})
