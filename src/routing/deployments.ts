/**
 * Deployments: the addresses and keys that can answer for a model, in the order to try them.
 *
 * A deployment is one model at one key of its vendor. One that refused or failed rests: as long as its vendor asked,
 * else longer each time. The key's other models continue, unless the vendor refused the key itself. After the rest one
 * call probes it while the others still go elsewhere; a good answer closes the circuit again.
 */
import type { Model } from '../core/model.ts'
import type { Secret } from '../core/secret.ts'
import type { VendorSetup } from '../vendors/setup.ts'

export type Deployment = {
  /** The id of the key at its vendor. */
  readonly key: string
  /** Its place in the vendor's list of keys. */
  readonly place: string
  /** The id of the model at that key. */
  readonly id: string
  readonly setup: VendorSetup
  /** The model to ask for there: the one that was priced, or an equal one at another vendor. */
  readonly model: Model
  /** The same for the key in every process and after every start, whatever its place in the list. */
  readonly anchor: bigint
  /** Undefined for a vendor that needs no key. */
  readonly secret: Secret | undefined
  /** Its share among deployments of the same priority. */
  readonly weight: number
  /** Lower ones are tried first. */
  readonly priority: number
  /** Of an organisation's own key: what traffic has shown about its keys, apart from the house's. */
  readonly own?: Traffic
}

type Health = { failures: number; restingUntilMs: number; probing: boolean }

/** What traffic has shown about the deployments of this process. */
export type Traffic = {
  readonly health: Map<string, Health>
  /** The retry budget: calls pay in, retries take out, so that a broken vendor does not get every call twice. */
  retries: number
  /** How many calls were answered by an equal model that costs more than the requested one. */
  dearer: number
}

/** In fifths of a retry; each call pays in one. */
const RETRY_COST = 5
const RETRIES_MAX = 20 * RETRY_COST

export const newTraffic = (): Traffic => ({ health: new Map(), retries: RETRIES_MAX, dearer: 0 })

/**
 * What stays known when vendors are set up anew: the rests of unchanged keys, under their new places. Running calls
 * still note what they see in the old traffic. A probe may be among them, so no probe is in progress here.
 */
export const trafficAfter = (
  { traffic, vendors: before }: { readonly traffic: Traffic; readonly vendors: Setups },
  after: Setups,
): Traffic => {
  const health = new Map<string, Health>()
  for (const [name, known] of traffic.health) {
    const [key = '', model] = name.split(' ', 2)
    const now = sameKey(key, before, after)
    if (now !== undefined)
      health.set(model === undefined ? now : `${now} ${model}`, { ...known, probing: false })
  }
  return { ...traffic, health }
}

type Setups = ReadonlyMap<string, VendorSetup>

/** The new name of a key whose secret and address are unchanged. */
const sameKey = (name: string, before: Setups, after: Setups): string | undefined => {
  const [id = '', place] = name.split('#', 2)
  const [was, is] = [before.get(id), after.get(id)]
  if (was === undefined || is === undefined || was.baseUrl !== is.baseUrl) return undefined
  const secret = was.secrets[Number(place)]?.reveal()
  const at = is.secrets.findIndex((one) => one.reveal() === secret)
  if (secret === undefined) return is.secrets.length === 0 ? name : undefined
  return at < 0 ? undefined : keyName(is, at)
}

/** The specification's `max_attempts`. */
export const ATTEMPTS_MAX = 3
const REST_FIRST_MS = 1_000
const REST_LONGEST_MS = 60_000
/** After this time a vendor is probed, however long a rest it asked for. */
const REST_ASKED_MAX_MS = 600_000

/** The deployments of one vendor, one for each of its keys. `rank` puts them after those of other vendors. */
export const deploymentsOf = (setup: VendorSetup, model: Model, rank = 0): readonly Deployment[] => {
  const anchorOf = (secret: string) => Bun.hash.xxHash64(`${setup.baseUrl} ${secret}`)
  const base = { setup, model, weight: 1, priority: rank, anchor: anchorOf('') }
  const named = (index: number) => {
    const key = keyName(setup, index)
    return { key, place: String(index), id: `${key} ${model.id}` }
  }
  if (setup.secrets.length === 0) return [{ ...base, ...named(0), secret: undefined }]
  return setup.secrets.map((secret, index) => ({
    ...base,
    ...named(index),
    anchor: anchorOf(secret.reveal()),
    secret,
    weight: setup.weights?.[index] ?? 1,
    priority: rank + (setup.priorities?.[index] ?? 0),
  }))
}

const keyName = ({ vendor }: VendorSetup, index: number): string => `${vendor.id}#${index}`

/** The distance between the ranks of vendors, so large that priorities within one vendor never reach the next. */
export const RANK = 1_000

/**
 * The order in which to try deployments for one call: by priority; within a priority by weighted chance, or where the
 * conversation has a name by a hash of that in place of chance, so that its turns meet the same key and a key that rests
 * moves only its own conversations; resting ones last. `random` is from 0 to 1, `nowMs` monotonic.
 */
export const orderOf = (
  deployments: readonly Deployment[],
  traffic: Traffic,
  call: Drawing,
): readonly Deployment[] =>
  // A plain call must not pay for what only several deployments need.
  deployments.length === 1 ? deployments : drawn(deployments, traffic, call)

type Drawing = {
  readonly nowMs: number
  readonly random: () => number
  readonly conversation?: string | undefined
}

const drawn = (
  deployments: readonly Deployment[],
  traffic: Traffic,
  { nowMs, random, conversation }: Drawing,
): readonly Deployment[] =>
  deployments
    .map((one) => ({
      one,
      rests: isResting(traffic, one, nowMs),
      // Ordering by these keys equals drawing by weight without replacement (Efraimidis and Spirakis, 2006).
      draw: (conversation === undefined ? random() : hashed(conversation, one.anchor)) ** (1 / one.weight),
    }))
    .sort((a, b) => Number(a.rests) - Number(b.rests) || a.one.priority - b.one.priority || b.draw - a.draw)
    .map(({ one }) => one)

/** A number from 0 to 1 of 53 bits. */
const hashed = (text: string, seed: bigint): number => Number(Bun.hash.xxHash64(text, seed) >> 11n) / 2 ** 53

/** Takes one more attempt out of the retry budget, if it allows one. */
export const takeRetry = (traffic: Traffic): boolean => {
  if (traffic.retries < RETRY_COST) return false
  traffic.retries -= RETRY_COST
  return true
}

/** Notes the beginning of an attempt; after a rest it is the probe. */
export const noteAttempt = (house: Traffic, deployment: Deployment, first: boolean): void => {
  const traffic = deployment.own ?? house
  if (first) traffic.retries = Math.min(RETRIES_MAX, traffic.retries + 1)
  for (const health of healthOf(traffic, deployment)) health.probing = true
}

const healthOf = (traffic: Traffic, { key, id, own }: Deployment): readonly Health[] => {
  const { health } = own ?? traffic
  return health.size === 0 ? [] : [health.get(key), health.get(id)].filter((one) => one !== undefined)
}

/** What rests after a failure: the one model at the key, or the key with all its models. */
export type Scope = 'model' | 'key'

/** Notes a failure: what failed rests, longer each time, or as long as the vendor asked. */
export const noteFailure = (
  house: Traffic,
  deployment: Deployment,
  {
    scope,
    nowMs,
    restMs,
  }: { readonly scope: Scope; readonly nowMs: number; readonly restMs: number | undefined },
): void => {
  const traffic = deployment.own ?? house
  noteNothing(traffic, deployment)
  const name = scope === 'key' ? deployment.key : deployment.id
  const failures = (traffic.health.get(name)?.failures ?? 0) + 1
  const longer = Math.min(REST_FIRST_MS * 2 ** (failures - 1), REST_LONGEST_MS)
  const lengthMs = restMs === undefined ? longer : Math.min(restMs, REST_ASKED_MAX_MS)
  traffic.health.set(name, { failures, restingUntilMs: nowMs + lengthMs, probing: false })
}

export const noteSuccess = (traffic: Traffic, { key, id, own }: Deployment): void => {
  const { health } = own ?? traffic
  if (health.size === 0) return
  health.delete(key)
  health.delete(id)
}

/** Notes an attempt that says nothing about the deployment: the caller left, or the request was at fault. */
export const noteNothing = (traffic: Traffic, deployment: Deployment): void => {
  for (const health of healthOf(traffic, deployment)) health.probing = false
}

export const isResting = (traffic: Traffic, deployment: Deployment, nowMs: number): boolean =>
  healthOf(traffic, deployment).some(({ restingUntilMs, probing }) => restingUntilMs > nowMs || probing)

/** How much longer each of a vendor's keys rests, with one model or all, in order; 0 for a key that does not rest. */
export const restsOf = (setup: VendorSetup, { health }: Traffic, nowMs: number): readonly number[] => {
  const rests = Array.from({ length: Math.max(1, setup.secrets.length) }, () => 0)
  for (const [name, { restingUntilMs }] of health) {
    const index = rests.findIndex((_rest, at) => name.split(' ', 1)[0] === keyName(setup, at))
    if (index >= 0) rests[index] = Math.max(rests[index] ?? 0, restingUntilMs - nowMs)
  }
  return rests
}

/** How many of a vendor's keys rest, with one model or all, and how many there are; for /api/status. */
export const restingOf = (
  setup: VendorSetup,
  traffic: Traffic,
  nowMs: number,
): { readonly resting: number; readonly of: number } => {
  const rests = restsOf(setup, traffic, nowMs)
  return { resting: rests.filter((restMs) => restMs > 0).length, of: rests.length }
}
