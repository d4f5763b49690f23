/** Misspelt settings are found, and what only looks a little like one is not. */
import { expect, test } from 'bun:test'
import { strayNames } from './stray-names.ts'

test.each([
  ['OPENAI_API_KYE', 'OPENAI_API_KEY'],
  ['TURNPIKE_SECRETT', 'TURNPIKE_SECRET'],
  ['DATABASE_URI', 'DATABASE_URL'],
  ['TRUSTED_PROXY', undefined],
  ['CONSOLE_ORIGN', 'CONSOLE_ORIGIN'],
  ['OPENAI_API_KEY_FIEL', 'OPENAI_API_KEY_FILE'],
  ['PATH', undefined],
  ['HOSTNAME', undefined],
  ['OPENAI_ORG_ID', undefined],
  ['SSL_CERT_FILE', undefined],
])('%s → %s', (name, meant) => {
  expect(strayNames({ [name]: 'x' })).toEqual(meant === undefined ? [] : [{ name, meant }])
})

test('a name beside the setting that it is near to is another program’s', () => {
  expect(strayNames({ OPENAI_API_KEY: 'a', OPENAI_API_KEY2: 'b' })).toEqual([])
})
