/**
 * Vendors whose credential is more than one key: Amazon Bedrock with an access key, Google Vertex AI with a service
 * account, Kling with two keys.
 */
import { readFileSync } from 'node:fs'
import { isObject, parseJson } from '../../core/json-body.ts'
import { Secret } from '../../core/secret.ts'
import { systemClock } from '../../core/time.ts'
import { BadSetting, type Environment } from '../../settings/bad-setting.ts'
import { googleTokens } from '../../transport/google-token.ts'
import { klingTokens } from '../../transport/kling-token.ts'
import { awsSigner } from '../../transport/sign-aws.ts'
import { bedrock } from '../../vendors/bedrock.ts'
import { kling } from '../../vendors/kling/kling.ts'
import type { VendorSetup } from '../../vendors/setup.ts'
import { vertex } from '../../vendors/vertex.ts'

/** An address the operator gave for the vendor, or undefined. */
type AddressOf = (vendor: typeof bedrock | typeof vertex | typeof kling) => string

/** The cloud vendors that are set up in the environment. Throws BadSetting. */
export const cloudVendors = (environment: Environment, addressOf: AddressOf): readonly VendorSetup[] => [
  ...bedrockFrom(environment, addressOf(bedrock)),
  ...vertexFrom(environment, addressOf(vertex)),
  ...klingFrom(environment, addressOf(kling)),
]

/** The vendors that are set up only here. */
export const isCloudVendor = (id: string): boolean => [bedrock.id, vertex.id, kling.id].includes(id)

const given = (environment: Environment, name: string): string | undefined => environment[name] || undefined

const bedrockFrom = (environment: Environment, address: string): readonly VendorSetup[] => {
  const token = given(environment, bedrock.keyVariable)
  const id = given(environment, 'AWS_ACCESS_KEY_ID')
  const secret = given(environment, 'AWS_SECRET_ACCESS_KEY')
  if (token === undefined && id === undefined && secret === undefined) return []
  const region = given(environment, 'AWS_REGION') ?? given(environment, 'AWS_DEFAULT_REGION')
  // Many machines have access keys for other purposes: without a region they do not mean Bedrock.
  if (region === undefined) {
    if (token === undefined) return []
    throw new BadSetting('AWS_REGION is missing: Amazon Bedrock has one address per region')
  }
  const baseUrl = address === '' ? `https://bedrock-runtime.${region}.amazonaws.com` : address
  const secrets = token === undefined ? [] : [new Secret(token)]
  if (token !== undefined && (id === undefined || secret === undefined))
    return [{ vendor: bedrock, baseUrl, secrets }]
  if (id === undefined || secret === undefined)
    throw new BadSetting('AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY must be set together')
  const session = given(environment, 'AWS_SESSION_TOKEN')
  const sessionToken = session === undefined ? undefined : new Secret(session)
  const key = { id, secret: new Secret(secret), sessionToken, region }
  const authorize = awsSigner(key)
  const jobs = {
    ...{ baseUrl: address === '' ? `https://bedrock.${region}.amazonaws.com` : address, authorize },
    storage: { baseUrl: `https://s3.${region}.amazonaws.com`, authorize: awsSigner(key, 's3') },
  }
  return [{ vendor: bedrock, baseUrl, secrets, jobs, ...(token === undefined ? { authorize } : {}) }]
}

const vertexFrom = (environment: Environment, address: string): readonly VendorSetup[] => {
  const path = given(environment, vertex.keyVariable)
  const project = given(environment, 'VERTEX_PROJECT')
  // Many machines have service accounts for other purposes: without a project they do not mean Vertex.
  if (project === undefined) return []
  if (path === undefined)
    throw new BadSetting(`${vertex.keyVariable} is missing: VERTEX_PROJECT needs a service account's file`)
  const location = given(environment, 'VERTEX_LOCATION') ?? 'global'
  const host = location === 'global' ? 'aiplatform.googleapis.com' : `${location}-aiplatform.googleapis.com`
  const baseUrl =
    address === ''
      ? `https://${host}/v1/projects/${project}/locations/${location}/publishers/google`
      : address
  const authorize = googleTokens(accountAt(path), systemClock)
  const jobs = {
    ...{ baseUrl: baseUrl.replace(/\/publishers\/google$/, ''), authorize },
    storage: { baseUrl: 'https://storage.googleapis.com', authorize },
  }
  return [{ vendor: vertex, baseUrl, secrets: [], authorize, jobs }]
}

const klingFrom = (environment: Environment, baseUrl: string): readonly VendorSetup[] => {
  const access = given(environment, kling.alsoNeeds)
  const secret = given(environment, kling.keyVariable)
  if (access === undefined && secret === undefined) return []
  if (access === undefined || secret === undefined)
    throw new BadSetting(`${kling.alsoNeeds} and ${kling.keyVariable} must be set together`)
  const authorize = klingTokens({ access, secret: new Secret(secret) }, systemClock)
  return [{ vendor: kling, baseUrl, secrets: [], authorize }]
}

const accountAt = (path: string) => {
  const bad = (reason: string) => new BadSetting(`${vertex.keyVariable} names '${path}', ${reason}`)
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch {
    throw bad('which cannot be read')
  }
  const value = parseJson(text)
  if (!isObject(value) || typeof value.client_email !== 'string' || typeof value.private_key !== 'string')
    throw bad('which is not the file of a service account')
  const tokenUrl =
    typeof value.token_uri === 'string' ? value.token_uri : 'https://oauth2.googleapis.com/token'
  return { email: value.client_email, privateKey: new Secret(value.private_key), tokenUrl }
}
