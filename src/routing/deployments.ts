/**
 * Deployments: the addresses and keys that can answer for a model, in the order to try them.
 *
 * A deployment that refused or failed rests: for as long as its vendor asked, else longer each time. Then one call
 * probes it while the others still go elsewhere; its answer closes the circuit again.
 */
import type { Model } from '../core/model.ts'
import type { Secret } from '../core/secret.ts'
import type { VendorSetup } from '../vendors/setup.ts'

export type Deployment = {
  readonly id: string
  readonly setup: VendorSetup
  /** The model to ask for there: the one that was priced, or its equal at another vendor. */
  readonly model: Model
  /** Undefined for a vendor that needs no key. */
  readonly secret: Secret | undefined
  /** Its share among those of one priority. */
  readonly weight: number
  /** Lower ones are tried first. */
  readonly priority: number
}

type Health = { failures: number; restingUntilMs: number; probing: boolean }

/** What traffic has shown of the deployments of this process. */
export type Traffic = {
  readonly health: Map<string, Health>
  /** What is left to retry with: calls pay in, retries take out, so that a broken vendor is not asked twice by everyone. */
  retries: number
}

/** In fifths of a retry: each call pays one in. */
const RETRY_COST = 5
const RETRIES_MAX = 20 * RETRY_COST

export const newTraffic = (): Traffic => ({ health: new Map(), retries: RETRIES_MAX })

/** The specification's `max_attempts`. */
const ATTEMPTS_MAX = 3
const REST_FIRST_MS = 1_000
const REST_LONGEST_MS = 60_000

/** The deployments of one vendor: one for each of its keys. `rank` puts them behind those of other vendors. */
export const deploymentsOf = (setup: VendorSetup, model: Model, rank = 0): readonly Deployment[] => {
  const base = { setup, model, weight: 1, priority: rank }
  if (setup.secrets.length === 0) return [{ ...base, id: `${setup.vendor.id}#0`, secret: undefined }]
  return setup.secrets.map((secret, index) => ({
    ...base,
    id: `${setup.vendor.id}#${index}`,
    secret,
    weight: setup.weights?.[index] ?? 1,
    priority: rank + (setup.priorities?.[index] ?? 0),
  }))
}

/** How far apart the ranks of vendors are, so that priorities within one never reach the next. */
export const RANK = 1_000

/**
 * The attempts for one call: by priority, within one by weighted chance, those at rest last; a deployment may be tried
 * again when there are fewer than three. `random` is from 0 to 1, `nowMs` monotonic.
 */
export const planAttempts = (
  deployments: readonly Deployment[],
  traffic: Traffic,
  now: { readonly nowMs: number; readonly random: () => number },
): readonly Deployment[] => {
  const [only] = deployments
  if (only !== undefined && deployments.length === 1) return [only, only, only]
  const order = deployments
    .map((one) => ({
      one,
      rests: isResting(traffic, one, now.nowMs),
      // The order of these keys is that of drawing by weight without putting back (Efraimidis and Spirakis, 2006).
      draw: now.random() ** (1 / one.weight),
    }))
    .sort((a, b) => Number(a.rests) - Number(b.rests) || a.one.priority - b.one.priority || b.draw - a.draw)
    .map(({ one }) => one)
  return Array.from({ length: ATTEMPTS_MAX }, () => order)
    .flat()
    .slice(0, ATTEMPTS_MAX)
}

/** Takes the right to one more attempt out of the budget of retries. */
export const takeRetry = (traffic: Traffic): boolean => {
  if (traffic.retries < RETRY_COST) return false
  traffic.retries -= RETRY_COST
  return true
}

/** Notes that an attempt begins; after a rest it is the probe. */
export const noteAttempt = (traffic: Traffic, deployment: Deployment, first: boolean): void => {
  if (first) traffic.retries = Math.min(RETRIES_MAX, traffic.retries + 1)
  const health = traffic.health.get(deployment.id)
  if (health !== undefined) health.probing = true
}

/** Notes a failure: the deployment rests, longer each time, or as long as the vendor asked. */
export const noteFailure = (
  traffic: Traffic,
  deployment: Deployment,
  nowMs: number,
  askedMs: number | undefined,
): void => {
  const failures = (traffic.health.get(deployment.id)?.failures ?? 0) + 1
  const restMs = askedMs ?? Math.min(REST_FIRST_MS * 2 ** (failures - 1), REST_LONGEST_MS)
  traffic.health.set(deployment.id, { failures, restingUntilMs: nowMs + restMs, probing: false })
}

export const noteSuccess = (traffic: Traffic, deployment: Deployment): void => {
  if (traffic.health.size > 0) traffic.health.delete(deployment.id)
}

/** Notes an attempt that told nothing of the deployment: the caller went, or the request was at fault. */
export const noteNothing = (traffic: Traffic, deployment: Deployment): void => {
  const health = traffic.health.get(deployment.id)
  if (health !== undefined) health.probing = false
}

export const isResting = (traffic: Traffic, deployment: Deployment, nowMs: number): boolean => {
  const health = traffic.health.get(deployment.id)
  return health !== undefined && (health.restingUntilMs > nowMs || health.probing)
}

/** How many of a vendor's deployments are at rest, of how many; for /api/status. */
export const restingOf = (
  setup: VendorSetup,
  traffic: Traffic,
  nowMs: number,
): { readonly resting: number; readonly of: number } => {
  const of = Math.max(1, setup.secrets.length)
  const ids = Array.from({ length: of }, (_, index) => `${setup.vendor.id}#${index}`)
  return { resting: ids.filter((id) => (traffic.health.get(id)?.restingUntilMs ?? 0) > nowMs).length, of }
}
