/** A server that sells models of vendors that take batches, with each form of these; the vendors are strict and scripted. */
import { readdir, rm } from 'node:fs/promises'
import S3rver from '@20minutes/s3rver'
import type { Model } from '../../src/core/model.ts'
import { Secret } from '../../src/core/secret.ts'
import { awsSigner } from '../../src/transport/sign-aws.ts'
import { anthropic } from '../../src/vendors/anthropic.ts'
import { azure } from '../../src/vendors/azure.ts'
import { bedrock } from '../../src/vendors/bedrock.ts'
import { fireworks } from '../../src/vendors/fireworks/fireworks.ts'
import { google } from '../../src/vendors/google/google.ts'
import { openai } from '../../src/vendors/openai/openai.ts'
import type { VendorSetup } from '../../src/vendors/setup.ts'
import { together } from '../../src/vendors/together/together.ts'
import type { Vendor } from '../../src/vendors/vendor.ts'
import { vertex } from '../../src/vendors/vertex.ts'
import type { BatchVendor } from '../clients/vendors/batch-form.ts'
import { batchVendor } from '../clients/vendors/batches.ts'
import { BATCH_BUCKET, BATCH_ROLE, BUCKET_KEY } from '../clients/vendors/bucket-batches.ts'
import { FIREWORKS_ACCOUNT } from '../clients/vendors/dataset-batches.ts'
import { AZURE_DEPLOYMENT } from '../clients/vendors/file-batches.ts'
import { tempFolder } from '../temp-folder.ts'
import { type BatchServer, startBatchServer } from './batch-rig.ts'
import { testModel } from './harness.ts'

export const partModels = {
  openai: 'openai/gpt-5-mini',
  anthropic: 'anthropic/claude-sonnet-4-5',
  google: 'google/gemini-2.5-flash',
  azure: 'azure/gpt-5-mini',
  together: 'together/meta-llama/Llama-3.3-70B-Instruct-Turbo',
  fireworks: 'fireworks/deepseek-v3p2',
  bedrock: 'bedrock/us.anthropic.claude-haiku-4-5',
  vertex: 'vertex/gemini-2.5-flash',
} as const
type Kind = keyof typeof partModels
export const kinds = [
  ...(['openai', 'anthropic', 'google', 'azure', 'together', 'fireworks'] as const),
  ...(['bedrock', 'vertex'] as const),
]
/** Those whose batches keep no name of ours. */
export const nameless: readonly Kind[] = ['anthropic', 'together']

/** 11 tokens in and 7 out cost 11 × 1,000 and 7 × 10,000 nano-USD; in batches half. */
export const PART_LINE = 40_500n

/** Few lines are handed on too, and their parts filled up. */
const fewToo: Vendor = {
  ...bedrock,
  batches: { ...bedrock.batches, form: { ...bedrock.batches.form, callsLeast: 1 } },
}
const records: Readonly<Record<Kind, Vendor>> = {
  ...{ openai, anthropic, google, azure, together, fireworks, vertex },
  bedrock: fewToo,
}

const sold = (id: string): Model => {
  const [vendor = ''] = id.split('/')
  const upstreamName = id.slice(vendor.length + 1)
  const requestStyle = records[vendor as Kind].requestStyleOf?.(upstreamName)
  return {
    ...testModel(upstreamName),
    ...{ id, vendor, upstreamName, maxOutputTokens: 32_000 },
    ...(requestStyle === undefined ? {} : { requestStyle }),
  }
}

/** What the operator names for the batches of those that need it. */
const names = {
  azure: { 'gpt-5-mini': AZURE_DEPLOYMENT },
  fireworks: { 'deepseek-v3p2': FIREWORKS_ACCOUNT },
}

/** Whether this request is one of those that batches are made of. */
export const isOfBatches = (asked: string): boolean =>
  /batch|\/files|\/datasets|storage|model-invocation/i.test(asked)

export type PartServer = BatchServer & {
  readonly vendors: Readonly<Record<Kind, BatchVendor>>
  /** The names of all objects in the buckets of the operator. */
  objects(): Promise<readonly string[]>
}

/** The bucket of Amazon Bedrock's batches: a real server of the protocol. */
export const startBucket = async () => {
  const directory = await tempFolder('turnpike-batches-')
  const configureBuckets = [{ name: BATCH_BUCKET }]
  const server = new S3rver({ port: 0, address: '127.0.0.1', silent: true, directory, configureBuckets })
  const { port } = await server.run()
  const address = `http://127.0.0.1:${port}`
  return {
    address,
    names: async () =>
      (await readdir(directory, { recursive: true })).filter((path) => path.endsWith('_object')),
    stop: async () => {
      await server.close()
      await rm(directory, { recursive: true, force: true })
    },
  }
}

/** How the two that need a bucket are set up. */
const inBuckets = (kind: Kind, bucketAt: string): Partial<VendorSetup> => {
  if (kind === 'vertex') {
    const authorize = async () => ({ authorization: 'Bearer house-key' })
    const storage = { baseUrl: 'https://storage.googleapis.com', authorize }
    const jobs = { baseUrl: 'http://vertex.invalid/v1', authorize, storage }
    return { jobs, bucket: { uri: `gs://${BATCH_BUCKET}/ours` } }
  }
  if (kind !== 'bedrock') return {}
  const key = { id: BUCKET_KEY, secret: new Secret(BUCKET_KEY), region: 'us-east-1' }
  const storage = { baseUrl: bucketAt, authorize: awsSigner(key, 's3') }
  const jobs = { baseUrl: 'http://bedrock.invalid/v1', authorize: awsSigner(key), storage }
  return { jobs, bucket: { uri: `s3://${BATCH_BUCKET}/ours/`, role: BATCH_ROLE } }
}

/** The vendors and the operator's buckets, which several servers may share. */
export const startPartVendors = async () => {
  const bucket = await startBucket()
  const buckets = { bedrock: bucket.address, vertex: new Map<string, string>() }
  const vendors: PartServer['vendors'] = {
    openai: batchVendor('openai'),
    anthropic: batchVendor('anthropic'),
    google: batchVendor('google'),
    azure: batchVendor('azure'),
    together: batchVendor('together'),
    fireworks: batchVendor('fireworks'),
    bedrock: batchVendor('bedrock', buckets),
    vertex: batchVendor('vertex', buckets),
  }
  return {
    ...{ bucket: bucket.address, vendors, stop: bucket.stop },
    objects: async () => [...(await bucket.names()), ...buckets.vertex.keys()],
  }
}

export const startPartServer = async (
  setup: Parameters<typeof startBatchServer>[0],
  shared?: Awaited<ReturnType<typeof startPartVendors>>,
): Promise<PartServer> => {
  const { bucket, vendors, objects, stop } = shared ?? (await startPartVendors())
  const more = kinds.map((id) => ({
    vendor: records[id],
    baseUrl: `http://${id}.invalid${id === 'fireworks' ? '/inference' : ''}/v1`,
    secrets: [new Secret('house-key')],
    fetch: vendors[id].fetch,
    ...inBuckets(id, bucket),
    ...(id in names ? { batches: names[id as keyof typeof names] } : {}),
  }))
  const models = [testModel('small'), ...Object.values(partModels).map(sold)]
  const server = await startBatchServer({ ...setup, server: { ...setup?.server, models, more } })
  return {
    ...{ ...server, vendors, objects },
    stop: async () => {
      await server.stop()
      if (shared === undefined) await stop()
    },
  }
}
