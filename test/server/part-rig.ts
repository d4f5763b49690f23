/** A server that sells models of vendors that take batches, with each form of these; the vendors are strict and scripted. */
import type { Model } from '../../src/core/model.ts'
import { Secret } from '../../src/core/secret.ts'
import { anthropic } from '../../src/vendors/anthropic.ts'
import { azure } from '../../src/vendors/azure.ts'
import { fireworks } from '../../src/vendors/fireworks/fireworks.ts'
import { google } from '../../src/vendors/google/google.ts'
import { openai } from '../../src/vendors/openai/openai.ts'
import { together } from '../../src/vendors/together/together.ts'
import type { Vendor } from '../../src/vendors/vendor.ts'
import type { BatchVendor } from '../clients/vendors/batch-form.ts'
import { batchVendor } from '../clients/vendors/batches.ts'
import { FIREWORKS_ACCOUNT } from '../clients/vendors/dataset-batches.ts'
import { AZURE_DEPLOYMENT } from '../clients/vendors/file-batches.ts'
import { type BatchServer, startBatchServer } from './batch-rig.ts'
import { testModel } from './harness.ts'

export const partModels = {
  openai: 'openai/gpt-5-mini',
  anthropic: 'anthropic/claude-sonnet-4-5',
  google: 'google/gemini-2.5-flash',
  azure: 'azure/gpt-5-mini',
  together: 'together/meta-llama/Llama-3.3-70B-Instruct-Turbo',
  fireworks: 'fireworks/deepseek-v3p2',
} as const
type Kind = keyof typeof partModels
export const kinds = ['openai', 'anthropic', 'google', 'azure', 'together', 'fireworks'] as const
/** Those whose batches keep no name of ours. */
export const nameless: readonly Kind[] = ['anthropic', 'together']

/** 11 tokens in and 7 out cost 11 × 1,000 and 7 × 10,000 nano-USD; in batches half. */
export const PART_LINE = 40_500n

const records: Readonly<Record<Kind, Vendor>> = { openai, anthropic, google, azure, together, fireworks }

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
export const isOfBatches = (asked: string): boolean => /batch|\/files|\/datasets|storage/i.test(asked)

export type PartServer = BatchServer & { readonly vendors: Readonly<Record<Kind, BatchVendor>> }

/** The vendors, which several servers may share. */
export const partVendors = (): PartServer['vendors'] => ({
  openai: batchVendor('openai'),
  anthropic: batchVendor('anthropic'),
  google: batchVendor('google'),
  azure: batchVendor('azure'),
  together: batchVendor('together'),
  fireworks: batchVendor('fireworks'),
})

export const startPartServer = async (
  setup: Parameters<typeof startBatchServer>[0],
  vendors = partVendors(),
): Promise<PartServer> => {
  const more = kinds.map((id) => ({
    vendor: records[id],
    baseUrl: `http://${id}.invalid${id === 'fireworks' ? '/inference' : ''}/v1`,
    secrets: [new Secret('house-key')],
    fetch: vendors[id].fetch,
    ...(id in names ? { batches: names[id as keyof typeof names] } : {}),
  }))
  const models = [testModel('small'), ...Object.values(partModels).map(sold)]
  const server = await startBatchServer({ ...setup, server: { ...setup?.server, models, more } })
  return { ...server, vendors }
}
