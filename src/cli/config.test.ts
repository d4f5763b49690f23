/** Every bad setting is one line that names it; good ones are read exactly. */

import { expect, test } from 'bun:test'
import { messageOf } from '../../test/cli/bad-setting.ts'
import { readConfig } from './config.ts'
import { parseConfigFile } from './config-file.ts'

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
  [
    { STRIPE_WEBHOOK_SECRET: 'whsec_a_secret' },
    'STRIPE_WEBHOOK_SECRET is of no use without STRIPE_SECRET_KEY',
  ],
  [
    { STRIPE_SECRET_KEY: 'secret', STRIPE_WEBHOOK_SECRET: 'whsec_a_secret' },
    'STRIPE_SECRET_KEY must be a key such as sk_live_… or rk_test_…',
  ],
  [
    { STRIPE_SECRET_KEY: 'sk_test_a', STRIPE_WEBHOOK_SECRET: 'whsec_a_secret,' },
    'STRIPE_WEBHOOK_SECRET must be a secret such as whsec_…, or several with commas between',
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

test('Stripe is off without the secret of its webhook, and its secrets are not shown', () => {
  expect(readConfig({ STRIPE_SECRET_KEY: 'sk_test_a' }).stripe).toBeUndefined()
  const { stripe } = readConfig({
    STRIPE_SECRET_KEY: 'sk_test_a',
    STRIPE_WEBHOOK_SECRET: 'whsec_aaa,whsec_bbb',
  })
  expect(stripe?.webhookSecrets.map((secret) => secret.reveal())).toEqual(['whsec_aaa', 'whsec_bbb'])
  expect([stripe?.baseUrl, stripe?.returnUrl]).toEqual(['https://api.stripe.com', undefined])
  expect(stripe?.topUpDailyMax).toBe(500_000_000_000n)
  const shown = JSON.stringify(stripe, (_name, value: unknown) =>
    typeof value === 'bigint' ? String(value) : value,
  )
  expect(`${shown}${Bun.inspect(stripe)}`).not.toMatch(/sk_test|whsec/)
})

const cloud = { AWS_REGION: 'eu-west-1', AWS_ACCESS_KEY_ID: 'AKID', AWS_SECRET_ACCESS_KEY: 'secret' }

test('cloud vendors are on when all they need is set', () => {
  const ids = (environment: Record<string, string>) =>
    readConfig(environment).vendors.map(({ vendor }) => vendor.id)
  expect(ids(cloud)).toEqual(['bedrock'])
  expect(ids({ AWS_REGION: 'eu-west-1', AWS_BEARER_TOKEN_BEDROCK: 'token' })).toEqual(['bedrock'])
  // Access keys and service accounts alone are there for other ends.
  expect(ids({ ...cloud, AWS_REGION: '' })).toEqual([])
  expect(ids({ GOOGLE_APPLICATION_CREDENTIALS: '/nowhere' })).toEqual([])
  expect(readConfig(cloud).vendors[0]?.baseUrl).toBe('https://bedrock-runtime.eu-west-1.amazonaws.com')
})

test.each([
  [{ AWS_BEARER_TOKEN_BEDROCK: 'token' }, 'AWS_REGION is missing: Amazon Bedrock has an address a region'],
  [
    { AWS_REGION: 'x', AWS_ACCESS_KEY_ID: 'AKID' },
    'AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY must be set together',
  ],
  [
    { VERTEX_PROJECT: 'p' },
    "GOOGLE_APPLICATION_CREDENTIALS is missing: VERTEX_PROJECT needs a service account's file",
  ],
  [
    { VERTEX_PROJECT: 'p', GOOGLE_APPLICATION_CREDENTIALS: '/nowhere' },
    "GOOGLE_APPLICATION_CREDENTIALS names '/nowhere', which cannot be read",
  ],
  [{ AZURE_API_KEY: 'k' }, 'AZURE_BASE_URL is missing: Azure OpenAI has no common address'],
] as const)('cloud settings %j', (environment, message) => {
  expect(messageOf(() => readConfig(environment))).toBe(message)
})

test.each([
  ['markup: "1.15"', '1.15'],
  ['markup: 15%', '1.15'],
  ['markup: 100%', '2.00'],
  ['markup: 15x', '15'],
  ['markup: 1.5x', '1.5'],
  ['markup: 2.99', '2.99'],
])('%s is the factor %s', (text, factor) => {
  expect(readConfig({}, parseConfigFile(text, 'f', {})).markup).toBe(factor)
})

test.each([
  // Fifteen times the price, or fifteen per cent on top: whoever writes it means the other.
  [
    'markup: 15',
    "markup: 15 is ambiguous: write '15x' for 15 times the vendor's price, '15%' for 15 % on top",
  ],
  ['markup: 3', "markup: 3 is ambiguous: write '3x' for 3 times the vendor's price, '3%' for 3 % on top"],
  ['markup: 0', "markup must be a factor such as 1.15 or 15x, or a percentage such as 15%, not '0'"],
  ['markup: xx', "markup must be a factor such as 1.15 or 15x, or a percentage such as 15%, not 'xx'"],
  // Would have made discounted models dearer.
  [
    'discount: 50%',
    "discount must be a factor above 0 and up to 1, such as 0.5 for half the price, not '50%'",
  ],
  [
    'discount: 1.5',
    "discount must be a factor above 0 and up to 1, such as 0.5 for half the price, not '1.5'",
  ],
])('%s is refused', (text, message) => {
  expect(messageOf(() => readConfig({}, parseConfigFile(text, 'f', {})))).toBe(message)
})

test('tiers, a cheaper tier and a last day of a model of the operator', () => {
  const text = `
vendors:
  openai:
    models:
      next:
        input_usd_per_1m: 2
        output_usd_per_1m: 10
        call_usd_per_1m: 5000
        tiers:
          - { above_input_tokens: 272000, input_usd_per_1m: 4, output_usd_per_1m: 15 }
          - { above_input_tokens: 1000, input_usd_per_1m: 3 }
        context_tokens: 1050000
        max_output_tokens: 128000
        cheaper_tier: flex
        ends: 2027-01-31
`
  expect(readConfig({}, parseConfigFile(text, 'f', {})).models).toMatchObject([
    {
      price: {
        rates: { input: 2_000_000, output: 10_000_000, call: 5_000_000_000 },
        tiers: [
          { aboveInputTokens: 1_000, rates: { input: 3_000_000 } },
          { aboveInputTokens: 272_000, rates: { input: 4_000_000, output: 15_000_000 } },
        ],
      },
      lower: { tier: 'flex' },
      endsAt: Date.parse('2027-01-31'),
    },
  ])
})
