/** A vendor of jobs for tests: its record, its answers, and a server that sells it. */
import { z } from 'zod'
import { modelOf } from '../../src/media/models.ts'
import type { MediaModel } from '../../src/media/product.ts'
import { usd } from '../../src/media/rate-card.ts'
import type { JobShape, Verdict } from '../../src/media/shape.ts'
import { type AssetServer, png, startAssetServer } from './asset-rig.ts'
import type { VendorRequest } from './harness.ts'

export const PICTURE = png(3, 2).toString('base64')
export const CENT = 10_000_000n

/** What the vendor says of a job: `pending`, `gone`, `blocked`, `failed`, `cancelled`, or how many pictures it made. */
export type Standing = string | number

const verdictOf = (json: unknown): Verdict | { pending: true; progress: number } | undefined => {
  const { is, progress = 0.5 } = json as { is?: Standing; progress?: number }
  if (is === 'pending') return { pending: true, progress }
  if (is === 'blocked') return { verdict: 'blocked' }
  if (is === 'failed') return { verdict: 'failed', fault: 'vendor', message: 'no' }
  if (typeof is !== 'number') return undefined
  const outputs = Array.from({ length: is }, (_, index) => ({
    type: 'image' as const,
    from: { base64: PICTURE },
    at: ['pictures', index],
  }))
  return { verdict: 'done', outputs, body: { pictures: Array(is).fill(null), seed: 7 } }
}

export const jobShape: JobShape = {
  flow: 'job',
  hosts: ['vendor.example'],
  ask: (inputs, model) => ({ method: 'POST', path: '/jobs', body: { json: { ...inputs, model } } }),
  readRef: ({ status, json }) => {
    const { id, wrong, cost } = (json ?? {}) as { id?: string; wrong?: string; cost?: number }
    if (wrong !== undefined) return { verdict: 'failed', fault: 'inputs', message: wrong }
    if (status !== 200 || id === undefined) return undefined
    return { ref: { id }, ...(cost === undefined ? {} : { vendorCost: BigInt(cost) }) }
  },
  poll: ({ id }) => ({ method: 'GET', path: `/jobs/${id}` }),
  readPoll: ({ status, json }) => {
    if (status !== 200) return undefined
    const { is, next } = json as { is?: Standing; next?: string }
    if (next !== undefined) return { next: { method: 'GET', path: next } }
    return is === 'cancelled' ? { verdict: 'cancelled' } : verdictOf(json)
  },
  cancel: ({ id }) => ({ method: 'DELETE', path: `/jobs/${id}` }),
  onCancel: 'free',
  everyMs: 50,
  deadlineMs: 600_000,
}

export const jobRecord = (change: Partial<JobShape> = {}, name = 'film'): MediaModel => ({
  name,
  category: 'image',
  title: 'Film',
  description: 'Takes its time.',
  inputs: z.strictObject({
    prompt: z.string().min(1).max(1000),
    n: z.int().min(1).max(4).default(1),
  }),
  example: { prompt: 'a fox' },
  shape: { ...jobShape, ...change },
  card: { rows: [{ rates: { image: usd('0.01') } }], most: { image: ({ n }) => Number(n) } },
  source: 'test, November 2026',
})

export const records: readonly MediaModel[] = [
  jobRecord(),
  jobRecord({ onCancel: 'billed' }, 'billed'),
  jobRecord({ deadlineMs: 1 }, 'hasty'),
]

export type JobServer = AssetServer & {
  /** Sets the vendor's answer about every job from now on. */
  says(is: Standing): void
  /** How often each request was made. */
  count(method: string, path?: RegExp): number
  /** The process dies: it sends nothing more, and others take up its jobs. */
  crash(): Promise<void>
}

/** The vendor answers alike to all servers of a test. */
export const newVendor = () => {
  const calls: { method: string; path: string }[] = []
  let is: Standing = 'pending'
  let cancelled = false
  const answer = ({ url, method = 'POST' }: VendorRequest): Response => {
    const { pathname } = new URL(url)
    calls.push({ method, path: pathname })
    if (method === 'POST') return Response.json({ id: `job-${calls.length}` })
    if (method === 'DELETE') cancelled = true
    if (is === 'gone') return new Response('', { status: 404 })
    return Response.json({ is: cancelled ? 'cancelled' : is, progress: 0.25 })
  }
  return {
    calls,
    answer,
    says: (next: Standing) => {
      is = next
      cancelled = false
    },
  }
}

export const startJobServer = async (
  it: Parameters<typeof startAssetServer>[0] & {
    readonly vendor?: ReturnType<typeof newVendor>
    readonly sells?: readonly MediaModel[]
  } = {},
): Promise<JobServer> => {
  const { vendor = newVendor(), sells = records } = it
  const server = await startAssetServer({
    ...it,
    server: {
      ...it.server,
      models: [...(it.server?.models ?? []), ...sells.map((record) => modelOf('mock', record))],
      vendor: { media: { models: sells } },
    },
  })
  server.answerWith(vendor.answer)
  return {
    ...server,
    says: vendor.says,
    count: (method, path = /./) =>
      vendor.calls.filter((one) => one.method === method && path.test(one.path)).length,
    crash: async () => {
      const { instance } = server.gateway
      const { jobs } = server.gateway.memory
      jobs.stopped = true
      jobs.left = true
      jobs.open.clear()
      await server.store.runs.leave(instance)
    },
  }
}
