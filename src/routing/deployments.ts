/**
 * Deployments: the addresses and keys that can answer for a model, in the order to try them.
 * A deployment that refused or failed rests for a while; others take its turns.
 */
import type { Model } from '../core/model.ts'
import type { Secret } from '../core/secret.ts'
import type { VendorSetup } from '../vendors/setup.ts'

export type Deployment = {
  readonly id: string
  readonly setup: VendorSetup
  /** Undefined for a vendor that needs no key. */
  readonly secret: Secret | undefined
}

/** What traffic has shown of the deployments of this process. */
export type Traffic = {
  readonly restingUntilMs: Map<string, number>
  readonly failuresInRow: Map<string, number>
  turn: number
}

export const newTraffic = (): Traffic => ({ restingUntilMs: new Map(), failuresInRow: new Map(), turn: 0 })

/** The specification's `max_attempts`. */
const ATTEMPTS_MAX = 3
const REST_FIRST_MS = 1_000
const REST_LONGEST_MS = 60_000

export const deploymentsOf = (setup: VendorSetup): readonly Deployment[] =>
  setup.secrets.length === 0
    ? [{ id: `${setup.vendor.id}#0`, setup, secret: undefined }]
    : setup.secrets.map((secret, index) => ({ id: `${setup.vendor.id}#${index}`, setup, secret }))

/**
 * The attempts for one call: rested deployments first, starting at another one each time; a deployment may be tried
 * again when there are fewer than three. `nowMs` is monotonic.
 */
export const planAttempts = (
  deployments: readonly Deployment[],
  traffic: Traffic,
  nowMs: number,
): readonly Deployment[] => {
  if (deployments.length === 1) return Array.from({ length: ATTEMPTS_MAX }, () => deployments).flat()
  const turn = traffic.turn++
  const order = deployments
    .map((_, index) => deployments[(turn + index) % deployments.length])
    .filter((one) => one !== undefined)
  const rested = order.filter((one) => (traffic.restingUntilMs.get(one.id) ?? 0) <= nowMs)
  const resting = order.filter((one) => !rested.includes(one))
  const once = [...rested, ...resting]
  return Array.from({ length: ATTEMPTS_MAX }, () => once)
    .flat()
    .slice(0, ATTEMPTS_MAX)
}

/** Notes a failure: the deployment rests, longer each time, or as long as the vendor asked. */
export const noteFailure = (
  traffic: Traffic,
  deployment: Deployment,
  nowMs: number,
  askedMs: number | undefined,
): void => {
  const failures = (traffic.failuresInRow.get(deployment.id) ?? 0) + 1
  traffic.failuresInRow.set(deployment.id, failures)
  const restMs = askedMs ?? Math.min(REST_FIRST_MS * 2 ** (failures - 1), REST_LONGEST_MS)
  traffic.restingUntilMs.set(deployment.id, nowMs + restMs)
}

export const noteSuccess = (traffic: Traffic, deployment: Deployment): void => {
  if (!traffic.failuresInRow.has(deployment.id)) return
  traffic.failuresInRow.delete(deployment.id)
  traffic.restingUntilMs.delete(deployment.id)
}

export const isResting = (traffic: Traffic, deployment: Deployment, nowMs: number): boolean =>
  (traffic.restingUntilMs.get(deployment.id) ?? 0) > nowMs

/** Whether any deployment of the model's vendor is worth asking; for /api/status. */
export const vendorRests = (setup: VendorSetup, traffic: Traffic, nowMs: number): boolean =>
  deploymentsOf(setup).every((deployment) => isResting(traffic, deployment, nowMs))

export const vendorOf = (model: Model, vendors: ReadonlyMap<string, VendorSetup>): VendorSetup | undefined =>
  vendors.get(model.vendor)
