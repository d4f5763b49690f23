/** The act that tells how vendors are: what rests after failures, and how the newest attempts at each ended. */
import { z } from 'zod'
import type { CallLine } from '../../store/reports/call-port.ts'
import type { VendorSetup } from '../../vendors/setup.ts'
import { act } from '../act.ts'
import { type Server, serverOf } from './system.ts'

const vendors = z
  .object({
    data: z.array(
      z.object({
        id: z.string(),
        name: z.string(),
        keys: z.array(z.string()).describe('By their last four letters'),
        calls: z.int().describe('Attempts at it, of the newest calls for which vendors were asked'),
        failed: z.int().describe('Of those, how many the vendor failed'),
        first_byte_ms: z.int().nullable().describe('Their median'),
        took_ms: z.int().nullable().describe('Their median'),
        failing: z.array(
          z.object({ key: z.string(), model: z.string().nullable(), failures: z.int(), seconds: z.int() }),
        ),
      }),
    ),
    of_calls: z.int(),
    off: z.array(z.object({ id: z.string(), variable: z.string() })),
  })
  .meta({ id: 'VendorList' })

/** How many calls a vendor is judged by. */
const NEWEST = 500

const median = (values: readonly number[]): number | null => {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted.length === 0 ? null : Math.round(sorted[Math.trunc(sorted.length / 2)] ?? 0)
}

/**
 * What is failing at a vendor in this process, until its next success: a key with all its models, or one model at a
 * key. It is also shown after its rest is over, which is soon, because somebody who looks at night must see it.
 */
export const failingOf = (
  { offering: { traffic }, clock }: Pick<Server, 'offering' | 'clock'>,
  { vendor, secrets }: VendorSetup,
) => {
  const now = clock.monotonicMs()
  return [...traffic.health].flatMap(([name, { failures, restingUntilMs }]) => {
    const [key = '', model] = name.split(' ', 2)
    const [id, index] = key.split('#')
    if (id !== vendor.id) return []
    const secret = secrets[Number(index)]
    return [
      {
        key: secret === undefined ? 'no key' : `…${secret.reveal().slice(-4)}`,
        model: model ?? null,
        failures,
        seconds: Math.max(0, Math.ceil((restingUntilMs - now) / 1_000)),
      },
    ]
  })
}

/** How attempts end that are the vendor's failures, and not the call's or its caller's. */
const FAILURES: readonly string[] = ['failed', 'may_bill', 'busy', 'key_refused']

const shownVendor = (server: Server, setup: VendorSetup, newest: readonly CallLine[]) => {
  const { vendor, secrets } = setup
  const details = newest.flatMap(({ detail }) => (detail?.vendor === vendor.id ? [detail] : []))
  const tries = newest.flatMap(({ detail, failure }) =>
    (detail?.tries ?? failure?.detail.tries ?? []).filter((one) => one.vendor === vendor.id),
  )
  const broken = details.filter((detail) => detail.ended === 'vendor_failed').length
  const ended = details.filter((detail) => detail.ended === 'ok')
  return {
    id: vendor.id,
    name: vendor.name,
    keys: secrets.map((secret) => `…${secret.reveal().slice(-4)}`),
    calls: details.length + tries.length,
    failed: broken + tries.filter(({ outcome }) => FAILURES.includes(outcome)).length,
    first_byte_ms: median(ended.map(({ firstByteMs }) => firstByteMs)),
    took_ms: median(ended.map(({ tookMs }) => tookMs)),
    failing: failingOf(server, setup),
  }
}

export const vendorList = act({
  name: 'vendor.list',
  summary:
    'The vendors that are on: their keys, what rests after failures, and the outcome of the newest calls.',
  may: ['system'],
  changes: false,
  input: {},
  shows: vendors,
  does: async (acting) => {
    const server = serverOf(acting)
    const { lines: newest } = await server.store.reports.calls({
      orgs: 'all',
      only: { asked: true },
      most: NEWEST,
    })
    return {
      data: [...server.offering.vendors.values()].map((one) => shownVendor(server, one, newest)),
      of_calls: newest.length,
      off: [...(server.offering.setup?.off ?? [])],
    }
  },
})
