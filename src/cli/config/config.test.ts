/** Every bad setting gives one line that names it; good ones are read exactly. */

import { expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { messageOf } from '../../../test/cli/bad-setting.ts'
import { usageClasses } from '../../core/usage.ts'
import { readConfig } from './config.ts'
import { parseConfigFile } from './config-file.ts'

test.each([
  [{ PORT: '70000' }, "PORT must be a number from 0 to 65535, not '70000'"],
  [{ PORT: 'http' }, "PORT must be a number from 0 to 65535, not 'http'"],
  [{ DATABASE_URL: 'mysql://secret@x' }, 'DATABASE_URL must be sqlite:<path> or postgres://…'],
  [{ CREDIT_USD: '0' }, "CREDIT_USD must be a decimal amount above 0, not '0'"],
  [{ CREDIT_USD: '-1' }, "CREDIT_USD must be a decimal amount above 0, not '-1'"],
  [{ PLAN_RPM: '0' }, "PLAN_RPM must be a number from 1 to 999999999, not '0'"],
  [{ TURNPIKE_SECRET: 'short' }, 'TURNPIKE_SECRET must be at least 16 characters'],
  [
    { WORKERS: '2' },
    'WORKERS above 1 needs PostgreSQL: set DATABASE_URL=postgres://… or leave one process on SQLite',
  ],
  [
    { OIDC_ISSUER: 'https://id.example.com', CONSOLE_ORIGIN: 'https://console.example.com' },
    'OIDC_ISSUER and OIDC_CLIENT_ID are of no use without each other: set both or none',
  ],
  [
    { SMTP_URL: 'smtp://mail.example.com' },
    'SMTP_URL needs CONSOLE_ORIGIN (or PUBLIC_URL): the address that links in mails begin with',
  ],
  [
    { OIDC_ISSUER: 'https://id.example.com', OIDC_CLIENT_ID: 'turnpike' },
    'OIDC_ISSUER needs CONSOLE_ORIGIN (or PUBLIC_URL): the address that the provider sends people back to',
  ],
  [{ ASSETS: 's3://media' }, 'ASSETS=s3://… needs ASSETS_KEY_ID and ASSETS_SECRET'],
  [{ ASSETS: 's3://UPPER/..' }, "ASSETS must be a path or s3://<bucket>/<prefix>, not 's3://UPPER/..'"],
  [{ ASSETS: 'gs://media' }, "ASSETS must be a path or s3://<bucket>/<prefix>, not 'gs://media'"],
  [
    { ASSETS: 's3://media', ASSETS_KEY_ID: 'a', ASSETS_SECRET: 'b', ASSETS_ENDPOINT: 'minio:9000' },
    "ASSETS_ENDPOINT must be an address without a path, not 'minio:9000'",
  ],
  [{ PUBLIC_URL: 'https://a/b' }, "PUBLIC_URL must be an address without a path, not 'https://a/b'"],
  [{ ASSET_URL_HOURS: '0' }, "ASSET_URL_HOURS must be a number of hours from 1 to 9999, not '0'"],
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
  [{ STRIPE_NETWORK_ID: 'profile_a' }, 'STRIPE_NETWORK_ID needs STRIPE_SECRET_KEY and STRIPE_WEBHOOK_SECRET'],
  [{ STRIPE_PAYMENT_METHODS: 'card' }, 'STRIPE_PAYMENT_METHODS is of no use without STRIPE_NETWORK_ID'],
  [
    { STRIPE_SECRET_KEY: 'sk_test_a', STRIPE_WEBHOOK_SECRET: 'whsec_aaa', STRIPE_NETWORK_ID: 'profile_a' },
    'STRIPE_NETWORK_ID needs the x402 section of turnpike.yaml: its quotes are those of x402',
  ],
  [
    { TRUSTED_PROXIES: '10.0.0.0/8, 0.0.0.0/0' },
    "TRUSTED_PROXIES must be addresses or blocks such as 10.0.0.0/8, separated by commas; not 0.0.0.0/0, ::/0 or IPv4-mapped blocks, not '0.0.0.0/0'",
  ],
  [{ TURNPIKE_CONFIG: 'nowhere.yaml' }, "TURNPIKE_CONFIG names 'nowhere.yaml', which does not exist"],
])('%j → %s', (environment, message) => {
  expect(messageOf(() => readConfig(environment))).toBe(message)
})

test('everything wrong with settings, vendors and file is reported at once, a line each', () => {
  const environment = { PORT: 'http', LOG: 'all', OPENAI_API_KEY: 'k', OPENAI_BASE_URL: 'nowhere' }
  expect(
    messageOf(() => readConfig(environment, parseConfigFile('{ markup: 0, discount: 2 }', 'f', {}))).split(
      '\n',
    ),
  ).toEqual([
    "PORT must be a number from 0 to 65535, not 'http'",
    "LOG must be call, info, warn, error or off, not 'all'",
    "OPENAI_BASE_URL must be an address such as https://host/v1, not 'nowhere'",
    "markup must be a factor such as 1.15 or 15x, or a percentage such as 15%, not '0'",
    "discount must be a factor above 0 and up to 1, such as 0.5 for half the price, not '2'",
  ])
  expect(messageOf(() => readConfig({ WORKERS: '2', STRIPE_WEBHOOK_SECRET: 'whsec_a_secret' }))).toBe(
    'STRIPE_WEBHOOK_SECRET is of no use without STRIPE_SECRET_KEY\n' +
      'WORKERS above 1 needs PostgreSQL: set DATABASE_URL=postgres://… or leave one process on SQLite',
  )
})

test.each([
  ['vendors: [', /^f: |^f is not valid YAML/],
  ['vendors: &all { openai: *all }', /^f: an alias stands inside what it names$/],
  ['vendors: [openai]', /^f: vendors: must be names with their values, not a list$/],
  ['vendors: { a: { models: { m: {} } } }', /^f: vendors\.a\.models\.m\.context_tokens: is missing$/],
  [
    'vendors: { a: { models: { m: { context_tokens: many, max_output_tokens: 5 } } } }',
    /^f: vendors\.a\.models\.m\.context_tokens: must be a number, not text$/,
  ],
  ['vendorz: {}', /f: the file: Unrecognized key: "vendorz"; did you mean 'vendors'\?/],
  ['vendors: { x: { base_ur: a } }', /f: vendors\.x: Unrecognized key: "base_ur"; did you mean 'base_url'\?/],
  ['handling: { zdr: true }', /f: the file: Unrecognized key: "handling"; it belongs to vendors\.<vendor>$/],
  [
    'vendors: { x: { input_usd_per_1m: 1 } }',
    /"input_usd_per_1m"; it belongs to vendors\.<vendor>\.models\.<model> or prices\.<model>$/,
  ],
  ['vendors: { x: { models: { m: { context_tokens: -1 } } } }', /f: vendors\.x\.models\.m\.context_tokens/],
  ['vendors: { a: { keys: 5 } }', /^f: vendors\.a\.keys: must be text or a list, not a number$/],
  [
    'vendors: { a: { keys: [k, 5] } }',
    /^f: vendors\.a\.keys\.1: must be text or names with their values, not a number$/,
  ],
  ['vendors: { a: { keys: [{ key: 5 }] } }', /^f: vendors\.a\.keys\.0\.key: must be text, not a number$/],
  ['markup: [1]', /^f: markup: must be text or a number, not a list$/],
  ['markup:', /^f: markup: must be text or a number, not empty$/],
  ['failover: { a: [5] }', /^f: failover\.a\.0: must be text or names with their values, not a number$/],
  ['failover: { a: [""] }', /^f: failover\.a\.0: Too small/],
  [`vendors: { x: { keys: "$\{NOT_SET}" } }`, /f: the environment variable NOT_SET is not set/],
])('a bad file: %s', (text, message) => {
  expect(messageOf(() => parseConfigFile(text, 'f', {}))).toMatch(message)
})

test("an answer longer than the model's context is refused, with the names of both", () => {
  const file = (output: number) =>
    parseConfigFile(
      `vendors: { a: { base_url: "https://a.example/v1", models: { m: { input_usd_per_1m: 1, output_usd_per_1m: 1, context_tokens: 5000, max_output_tokens: ${output} } } } }`,
      'f',
      {},
    )
  expect(messageOf(() => readConfig({ A_API_KEY: 'k' }, file(5_001)))).toBe(
    'vendors.a.models.m.max_output_tokens (5001) is above vendors.a.models.m.context_tokens (5000), which bounds input and output together',
  )
  expect(() => readConfig({ A_API_KEY: 'k' }, file(5_000))).not.toThrow()
})

test("names for batches are given where a vendor's batches need one", () => {
  const read = (text: string) =>
    readConfig(
      { AZURE_API_KEY: 'k', AZURE_BASE_URL: 'https://r.openai.azure.com/openai/v1', GROQ_API_KEY: 'k' },
      parseConfigFile(text, 'f', {}),
    ).vendors.map(({ vendor, batches }) => [vendor.id, batches])
  expect(read('vendors: { azure: { batches: { gpt-4.1: mine } } }')).toEqual([
    ['azure', { 'gpt-4.1': 'mine' }],
    ['groq', undefined],
  ])
  expect(messageOf(() => read('vendors: { azure: { batches: { m: accounts/mine } } }'))).toBe(
    'f: vendors.azure.batches.m: must be a name without blanks and slashes',
  )
  expect(messageOf(() => read('vendors: { groq: { batches: { m: mine } } }'))).toBe(
    "vendors.groq.batches is of no use: batches of 'groq' need no name of yours",
  )
})

test('secrets come from files, without the end of their line; their faults are reported with all others', () => {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-secrets-'))
  const file = (name: string, text: string) => {
    writeFileSync(join(folder, name), text)
    return join(folder, name)
  }
  try {
    const { vendors, databaseUrl, secret } = readConfig(
      {
        OPENAI_API_KEY_FILE: file('openai', 'key-a,key-b\n'),
        DATABASE_URL_FILE: file('database', 'postgres://user:password@host/ledger\r\n'),
        TURNPIKE_SECRET_FILE: file('secret', ' a secret with blanks at its ends '),
        OWN_API_KEY_FILE: file('own', 'own-key'),
        // None of our secrets.
        SSL_CERT_FILE: '/nowhere',
      },
      parseConfigFile('vendors: { own: { base_url: "http://127.0.0.1:9/v1" } }', 'f', {}),
    )
    expect(vendors.map(({ vendor, secrets }) => [vendor.id, secrets.map((one) => one.reveal())])).toEqual([
      ['openai', ['key-a', 'key-b']],
      ['own', ['own-key']],
    ])
    expect([databaseUrl, secret?.reveal()]).toEqual([
      'postgres://user:password@host/ledger',
      ' a secret with blanks at its ends ',
    ])
    const wrong = {
      OPENAI_API_KEY_FILE: join(folder, 'not-there'),
      GROQ_API_KEY: 'g',
      GROQ_API_KEY_FILE: file('groq', 'h'),
      XAI_API_KEY_FILE: file('xai', '\n'),
      PORT: 'http',
    }
    expect(messageOf(() => readConfig(wrong)).split('\n')).toEqual([
      expect.stringMatching(/^OPENAI_API_KEY_FILE names '.*not-there', which cannot be read: ENOENT/),
      'GROQ_API_KEY and GROQ_API_KEY_FILE are both set: keep one of them',
      expect.stringMatching(/^XAI_API_KEY_FILE names '.*xai', which is empty$/),
      "PORT must be a number from 0 to 65535, not 'http'",
    ])
  } finally {
    rmSync(folder, { recursive: true })
  }
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

test('an address of a setting is no address of a vendor that there is not', () => {
  const addresses = { STRIPE_BASE_URL: 'http://127.0.0.1:9', OPENIA_BASE_URL: 'http://127.0.0.1:9' }
  expect(readConfig(addresses).strayAddresses).toEqual(['OPENIA_BASE_URL'])
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
  // Access keys and service accounts alone may have other purposes.
  expect(ids({ ...cloud, AWS_REGION: '' })).toEqual([])
  expect(ids({ GOOGLE_APPLICATION_CREDENTIALS: '/nowhere' })).toEqual([])
  expect(ids({ KLING_ACCESS_KEY: 'a', KLING_SECRET_KEY: 's' })).toEqual(['kling'])
  expect(readConfig(cloud).vendors[0]?.baseUrl).toBe('https://bedrock-runtime.eu-west-1.amazonaws.com')
})

test.each([
  [{ AWS_BEARER_TOKEN_BEDROCK: 'token' }, 'AWS_REGION is missing: Amazon Bedrock has one address per region'],
  [
    { AWS_REGION: 'x', AWS_ACCESS_KEY_ID: 'AKID' },
    'AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY must be set together',
  ],
  [{ KLING_ACCESS_KEY: 'a' }, 'KLING_ACCESS_KEY and KLING_SECRET_KEY must be set together'],
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
  // Fifteen times the price, or fifteen per cent on top: the author may have meant either.
  [
    'markup: 15',
    "markup: 15 is ambiguous: write '15x' for 15 times the vendor's price, '15%' for 15 % on top",
  ],
  ['markup: 3', "markup: 3 is ambiguous: write '3x' for 3 times the vendor's price, '3%' for 3 % on top"],
  ['markup: 0', "markup must be a factor such as 1.15 or 15x, or a percentage such as 15%, not '0'"],
  ['markup: xx', "markup must be a factor such as 1.15 or 15x, or a percentage such as 15%, not 'xx'"],
  // This would have made discounted models dearer.
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

test('law: whatever a call can cost has its price in the file, for a model, in its tiers and from a later day', () => {
  for (const one of usageClasses) {
    const price = `${one}_usd_per_1m: "0.25"`
    const text = `prices: { a/b: { ${price}, tiers: [{ above_input_tokens: 9, ${price} }], later: [{ from: "2030-01-01", ${price} }] } }`
    const rates = { [one]: 250_000 }
    expect(readConfig({}, parseConfigFile(text, 'f', {})).overrides['a/b']).toMatchObject({
      rates,
      tiers: [{ rates }],
      later: [{ rates }],
    })
  }
})

test('assets lie in a folder, or in a bucket under a prefix', () => {
  const placeOf = (environment: Record<string, string>) => readConfig(environment, {}).assets
  expect(placeOf({})).toMatchObject({ place: { folder: './data/assets' }, origin: undefined })
  const keys = { ASSETS_KEY_ID: 'id', ASSETS_SECRET: 'secret', ASSETS_ENDPOINT: 'http://minio:9000' }
  expect(placeOf({ ...keys, ASSETS: 's3://media/turnpike/one/' }).place).toMatchObject({
    bucket: 'media',
    prefix: 'turnpike/one/',
    endpoint: 'http://minio:9000',
    region: undefined,
  })
  expect(placeOf({ ...keys, ASSETS: 's3://media' }).place).toMatchObject({ bucket: 'media', prefix: '' })
  const named = { PUBLIC_URL: 'https://gate.example.com' }
  expect(placeOf(named).origin).toBe('https://gate.example.com')
  expect(placeOf({ ...named, ASSET_ORIGIN: 'https://media.example.com' }).origin).toBe(
    'https://media.example.com',
  )
})

test('all mistakes of the file are told, a line each', () => {
  const text = 'markup: [1]\nvendors: { x: { base_url: 1 } }\nmodells: {}'
  expect(messageOf(() => parseConfigFile(text, 'f', {})).split('\n').length).toBe(3)
})

test('further companies have a place in the file, and one of them speaks for an address', () => {
  const one = 'issuer: https://id.one.example, client_id: x, name: One, domains: [one.example]'
  const read = (
    companies: string,
    environment: Record<string, string> = { PUBLIC_URL: 'https://gate.example' },
  ) => readConfig(environment, parseConfigFile(`companies: {${companies}}`, 'turnpike.yaml', environment))
  expect(read(`one: {${one}}`).console.companies).toMatchObject([
    { id: 'one', setting: 'companies.one', role: 'developer', trustEmail: false, domains: ['one.example'] },
  ])
  expect(() => read(`one: {${one}}`, {})).toThrow('companies.one needs CONSOLE_ORIGIN')
  expect(() => read(`one: {${one}}, two: {${one}}`)).toThrow('one.example is also of companies.one')
  expect(() => read(`company: {${one}}`)).toThrow('other than company')
  expect(() => read(`one: {${one}, role: owner}`)).toThrow('companies.one.role')
})

test('with mail or a company’s sign-in the console has one address, and PUBLIC_URL stands in for it', () => {
  const originOf = (environment: Record<string, string>) => readConfig(environment, {}).console.origin
  const [PUBLIC_URL, CONSOLE_ORIGIN] = ['https://gate.example.com', 'https://console.example.com']
  const company = { OIDC_ISSUER: 'https://id.example.com', OIDC_CLIENT_ID: 'turnpike' }
  for (const people of [{ SMTP_URL: 'smtp://mail.example.com' }, company]) {
    expect(originOf({ ...people, PUBLIC_URL })).toBe(PUBLIC_URL)
    expect(originOf({ ...people, PUBLIC_URL, CONSOLE_ORIGIN })).toBe(CONSOLE_ORIGIN)
  }
  expect(originOf({ PUBLIC_URL })).toBeUndefined()
})
