/** The bucket of a vendor's batches, as turnpike.yaml names it: with all that it needs, or one line that says what is missing. */
import { expect, test } from 'bun:test'
import { messageOf } from '../../../test/cli/bad-setting.ts'
import { readConfig } from './config.ts'
import { parseConfigFile } from './config-file.ts'

test('a bucket for batches is given where a vendor needs one, with all that it needs', () => {
  const key = { AWS_ACCESS_KEY_ID: 'id', AWS_SECRET_ACCESS_KEY: 'secret', AWS_REGION: 'eu-west-1' }
  const role = 'arn:aws:iam::123456789012:role/batches'
  const read = (batch: string, environment: object = key, vendor = 'bedrock') =>
    readConfig({ ...environment }, parseConfigFile(`vendors: { ${vendor}: { batch: ${batch} } }`, 'f', {}))
      .vendors
  const whole = `{ bucket: s3://mine/ours, role: '${role}' }`
  const [setup] = read(whole)
  expect(setup?.bucket).toMatchObject({ uri: 's3://mine/ours', role })
  expect([setup?.jobs?.baseUrl, setup?.jobs?.storage.baseUrl]).toEqual([
    'https://bedrock.eu-west-1.amazonaws.com',
    'https://s3.eu-west-1.amazonaws.com',
  ])
  const [elsewhere] = read(`{ bucket: s3://mine, role: '${role}', endpoint: 'https://s3.example' }`)
  expect(elsewhere?.jobs?.storage.baseUrl).toBe('https://s3.example')
  // A Bedrock API key is for calls beside the access key, and opens no bucket by itself.
  const token = { AWS_BEARER_TOKEN_BEDROCK: 'token', AWS_REGION: 'eu-west-1' }
  const [both] = read(whole, { ...key, ...token })
  expect([both?.secrets.length, both?.authorize, both?.jobs === undefined]).toEqual([1, undefined, false])
  expect(messageOf(() => read(whole, token))).toStartWith('vendors.bedrock.batch needs AWS_ACCESS_KEY_ID')
  expect(messageOf(() => read('{ bucket: s3://mine }'))).toStartWith('vendors.bedrock.batch.role is missing')
  expect(messageOf(() => read('{ bucket: gs://mine }'))).toBe(
    'vendors.bedrock.batch.bucket must begin with s3://',
  )
  expect(messageOf(() => read('{ bucket: s3://mine }', { GROQ_API_KEY: 'k' }, 'groq'))).toBe(
    "vendors.groq.batch is of no use: batches of 'groq' need no bucket of yours",
  )
  expect(messageOf(() => read('{ bucket: s3://mine/../b }'))).toStartWith(
    'f: vendors.bedrock.batch.bucket: must be',
  )
})
