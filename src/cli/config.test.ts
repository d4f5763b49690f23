/** Every bad setting is one line that names it; good ones are read exactly. */
import { expect, test } from 'bun:test'
import { readConfig } from './config.ts'
import { parseConfigFile } from './config-file.ts'
import { BadSetting } from './settings.ts'

const messageOf = (work: () => unknown): string => {
  try {
    work()
    return 'accepted'
  } catch (error) {
    if (!(error instanceof BadSetting)) throw error
    return error.message
  }
}

test.each([
  [{ PORT: '70000' }, "PORT must be a number from 0 to 65535, not '70000'"],
  [{ PORT: 'http' }, "PORT must be a number from 0 to 65535, not 'http'"],
  [{ DATABASE_URL: 'mysql://secret@x' }, 'DATABASE_URL must be sqlite:<path> or postgres://…'],
  [{ CREDIT_USD: '0' }, 'CREDIT_USD must be a decimal amount above 0'],
  [{ CREDIT_USD: '-1' }, "CREDIT_USD must be a decimal amount above 0, not '-1'"],
  [{ PLAN_RPM: '0' }, "PLAN_RPM must be a number of at least 1, not '0'"],
  [{ TURNPIKE_SECRET: 'short' }, 'TURNPIKE_SECRET must be at least 16 characters'],
  [
    { WORKERS: '2' },
    'WORKERS above 1 needs PostgreSQL: set DATABASE_URL=postgres://… or leave one process on SQLite',
  ],
  [{ DISCOVER: 'yes' }, "DISCOVER must be on or off, not 'yes'"],
  [
    { OPENAI_API_KEY: 'k', OPENAI_BASE_URL: 'nowhere' },
    "OPENAI_BASE_URL must be an address such as https://host/v1, not 'nowhere'",
  ],
  [
    { OPENAI_API_KEY: 'k', OPENAI_BASE_URL: 'ftp://x' },
    'OPENAI_BASE_URL must begin with https:// or http://',
  ],
  [
    { OPENAI_API_KEY: 'k', OPENAI_BASE_URL: 'https://a:b@x/v1' },
    'OPENAI_BASE_URL must not hold credentials or a query',
  ],
  [{ TURNPIKE_CONFIG: 'nowhere.yaml' }, "TURNPIKE_CONFIG names 'nowhere.yaml', which does not exist"],
])('%j → %s', (environment, message) => {
  expect(messageOf(() => readConfig(environment))).toBe(message)
})

test.each([
  ['vendors: [', /^f: |^f is not valid YAML/],
  ['vendorz: {}', /f: the file: Unrecognized key: "vendorz"; did you mean 'vendors'\?/],
  ['vendors: { x: { base_ur: a } }', /f: vendors\.x: Unrecognized key: "base_ur"; did you mean 'base_url'\?/],
  ['vendors: { x: { models: { m: { context_tokens: -1 } } } }', /f: vendors\.x\.models\.m\.context_tokens/],
  [`vendors: { x: { keys: "$\{NOT_SET}" } }`, /f: the environment variable NOT_SET is not set/],
])('a bad file: %s', (text, message) => {
  expect(messageOf(() => parseConfigFile(text, 'f', {}))).toMatch(message)
})

test('keys and addresses come from the environment, several keys by commas, and no key is shown', () => {
  const config = readConfig({
    OPENAI_API_KEY: 'key-a, key-b',
    OPENAI_BASE_URL: 'http://127.0.0.1:9/v1/',
    GROQ_API_KEY: 'g',
  })
  const [openai] = config.vendors
  expect([openai?.vendor.id, openai?.baseUrl, openai?.secrets.map((secret) => secret.reveal())]).toEqual([
    'openai',
    'http://127.0.0.1:9/v1',
    ['key-a', 'key-b'],
  ])
  expect(config.vendors.map(({ vendor }) => vendor.id)).toEqual(['openai', 'groq'])
  for (const text of [JSON.stringify(config.vendors), Bun.inspect(config.vendors), String(openai?.secrets)])
    expect(text).not.toContain('key-a')
})
