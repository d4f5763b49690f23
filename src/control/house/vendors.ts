/** The act that tells how vendors are: what rests after failures, and how the newest attempts at each ended. */
import { z } from 'zod'
import { namedObject } from '../../core/body.ts'
import type { CallLine } from '../../store/reports/call-port.ts'
import type { VendorSetup } from '../../vendors/setup.ts'
import { act } from '../act.ts'
import { attemptsIn, figures, figuresOf } from '../reports/latency.ts'
import { type Server, serverOf } from './system.ts'

const vendors = namedObject('VendorList', {
  data: z.array(
    z.object({
      id: z.string(),
      name: z.string(),
      keys: z.array(z.string()).describe('By their last four letters'),
      added: z
        .array(z.string())
        .describe('Those of the keys that were added here, which can be removed here'),
      ...figures,
      calls: z.int().describe('Attempts at it, of the newest calls for which vendors were asked'),
      failing: z.array(
        z.object({ key: z.string(), model: z.string().nullable(), failures: z.int(), seconds: z.int() }),
      ),
    }),
  ),
  of_calls: z.int(),
  off: z.array(z.object({ id: z.string(), variable: z.string() })),
})

/** How many calls a vendor is judged by. */
const NEWEST = 500

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

const shownVendor = (server: Server, setup: VendorSetup, newest: readonly CallLine[]) => {
  const { vendor, secrets } = setup
  return {
    id: vendor.id,
    name: vendor.name,
    keys: secrets.map((secret) => `…${secret.reveal().slice(-4)}`),
    added: (server.config?.keys?.added(vendor.keyVariable) ?? []).map((end) => `…${end}`),
    ...figuresOf(newest.flatMap(attemptsIn).filter(({ of }) => of === vendor.id)),
    failing: failingOf(server, setup),
  }
}

export const vendorList = act({
  name: 'vendor.list',
  summary:
    'The vendors that are on: their keys, what rests after failures, and the outcome of the newest calls.',
  reads: ['system'],
  input: {},
  shows: vendors,
  does: async (acting) => {
    const server = serverOf(acting)
    const { lines: newest } = await server.store.reports.calls({
      orgs: 'all',
      mayLag: true,
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
