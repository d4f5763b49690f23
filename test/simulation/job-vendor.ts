/** A vendor of jobs in virtual time, and the place where results are kept; both outlive the processes that use them. */
import { z } from 'zod'
import type { Assets, StoredAsset } from '../../src/assets/assets.ts'
import { AssetFault } from '../../src/assets/take.ts'
import { modelOf } from '../../src/media/models.ts'
import type { MediaModel } from '../../src/media/product.ts'
import { usd } from '../../src/media/rate-card.ts'
import type { JobShape } from '../../src/media/shape.ts'
import type { VendorFetch } from '../../src/vendors/setup.ts'
import type { World } from './world.ts'

/** Nano-USD of one picture. */
export const PICTURE = 10_000_000n
export const DEADLINE_MS = 20_000

type VendorReply = { readonly id?: string; readonly is?: string; readonly made?: number }

const shape: JobShape = {
  flow: 'job',
  ask: (inputs, _model, { id }) => ({
    method: 'POST',
    path: '/jobs',
    body: { json: { ...inputs, call: id } },
  }),
  readRef: ({ status, json }) => {
    const { id } = json as VendorReply
    return status === 200 && id !== undefined ? { ref: { id } } : undefined
  },
  poll: ({ id }) => ({ method: 'GET', path: `/jobs/${id}` }),
  readPoll: ({ status, json }) => {
    if (status !== 200) return undefined
    const { is, made = 0 } = json as VendorReply
    if (is === 'pending') return { pending: true }
    if (is === 'cancelled') return { verdict: 'cancelled' }
    if (is === 'failed') return { verdict: 'failed', fault: 'vendor', message: 'no' }
    const outputs = Array.from({ length: made }, () => ({ type: 'image', from: { base64: 'AAAA' } }) as const)
    return { verdict: 'done', outputs, body: {} }
  },
  cancel: ({ id }) => ({ method: 'DELETE', path: `/jobs/${id}` }),
  onCancel: 'free',
  everyMs: 200,
  deadlineMs: DEADLINE_MS,
}

const record: MediaModel = {
  name: 'film',
  category: 'image',
  title: 'Film',
  description: 'Takes its time.',
  inputs: z.strictObject({
    ms: z.int(),
    n: z.int().min(1).max(4),
    made: z.int(),
    outcome: z.enum(['done', 'failed']),
  }),
  example: { ms: 1, n: 1, made: 1, outcome: 'done' },
  shape,
  card: { rows: [{ rates: { image: usd('0.01') } }], most: { image: ({ n }) => Number(n) } },
  source: 'simulated',
}

export const film = modelOf('mock', record)
export const filmMedia = { models: [record] }

type Job = { readonly endsMs: number; readonly made: number; is: string }

export type JobVendor = {
  /** Calls by how often their job was taken. */
  readonly taken: Map<string, number>
  /** The vendor as one process sees it; a dead process hears nothing. */
  readonly fetchOf: (alive: () => boolean) => VendorFetch
}

export const createJobVendor = (world: World): JobVendor => {
  const { random, pick } = world.draws('vendor')
  const jobs = new Map<string, Job>()
  const taken = new Map<string, number>()
  const later = <T>(alive: () => boolean, ms: number, value: () => T): Promise<T> =>
    new Promise((resolve, reject) =>
      world.after(ms, () => (alive() ? resolve(value()) : reject(new Error('the process is dead')))),
    )
  const take = (body: Uint8Array): string => {
    const { call, ms, made, outcome } = JSON.parse(new TextDecoder().decode(body))
    const id = `job-${jobs.size}`
    jobs.set(id, { endsMs: world.now() + ms, made, is: outcome })
    taken.set(call, (taken.get(call) ?? 0) + 1)
    return id
  }
  const standing = (job: Job): string =>
    job.is === 'cancelled' ? 'cancelled' : world.now() < job.endsMs ? 'pending' : job.is
  return {
    taken,
    fetchOf: (alive) => async (url, init) => {
      await later(alive, pick(1, 40), () => undefined)
      if (init.method === 'POST') {
        if (random() < 0.3) return new Response('{}', { status: 429 })
        const id = take(init.body as Uint8Array)
        return later(alive, pick(1, 400), () => Response.json({ id }))
      }
      if (random() < 0.05) return new Response('{}', { status: 500 })
      const job = jobs.get(url.split('/').at(-1) ?? '')
      if (job === undefined) return new Response('{}', { status: 404 })
      if (init.method === 'DELETE' && standing(job) === 'pending') job.is = 'cancelled'
      const is = standing(job)
      return later(alive, pick(1, 40), () => Response.json({ is, made: job.made }))
    },
  }
}

/** Results by their run and place; now and then one cannot be stored. */
export const createKept = (world: World, hit: (what: string) => void) => {
  const { random, pick } = world.draws('kept results')
  const kept = new Map<string, StoredAsset>()
  const name = (runId: string, index: number) => `${runId}/${index}`
  const assets: Assets = {
    keep: async ({ runId, index, type }) => {
      await new Promise<void>((resolve) => world.after(pick(1, 300), resolve))
      if (random() < 0.1) {
        hit('jobs: result asked for again')
        throw new AssetFault('source', 'no answer', { again: true })
      }
      const known = kept.get(name(runId, index))
      if (known !== undefined) return known
      const asset: StoredAsset = {
        id: name(runId, index),
        url: `http://turnpike.invalid/${name(runId, index)}`,
        type,
        media_type: 'image/png',
        bytes: 3,
        sha256: '',
        expires_at: '',
      }
      kept.set(asset.id, asset)
      return asset
    },
    kept: async (runId, index) => kept.get(name(runId, index)),
    base: () => 'http://turnpike.invalid',
    full: async () => undefined,
    bytes: async () => new Uint8Array(),
    lengthMs: async () => undefined,
    checkSignature: () => 'forged',
    find: async () => undefined,
    findFor: async () => undefined,
    open: async () => undefined,
    end: async () => false,
    sweep: async () => 0,
    fetchInput: async function* () {
      yield new Uint8Array()
    },
    uploads: undefined as never,
  }
  return { assets, isKept: (runId: string, index: number) => kept.has(name(runId, index)) }
}
