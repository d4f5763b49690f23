/** One exchange of a job with its vendor, read whole. The vendor's key is sent only to the vendor's own hosts. */

import { type Json, parseJson } from '../../core/json-body.ts'
import { encodeOutgoing } from '../../media/encode.ts'
import type { JobShape, Outgoing, VendorAnswer } from '../../media/shape.ts'
import type { Deployment } from '../../routing/deployments.ts'
import { type Condition, NO_CONDITIONS } from '../../tenancy/conditions.ts'
import { type Exchange, exchange } from '../../transport/exchange.ts'
import { VendorFault } from '../../transport/vendor-fault.ts'
import type { VendorSetup } from '../../vendors/setup.ts'
import { authorized } from '../ask/authorize.ts'
import { CountedAnswer, type Taken } from '../parts/capacity.ts'
import type { Gateway } from '../parts/gateway.ts'

const hostOf = (url: string): string | undefined => (URL.canParse(url) ? new URL(url).hostname : undefined)

/**
 * Whether an address belongs to the vendor: at the origin of its base address, or by https below a domain that its shape
 * names.
 */
const isOwn = (
  { baseUrl }: Pick<VendorSetup, 'baseUrl'>,
  { hosts = [] }: Pick<JobShape, 'hosts'>,
  url: string,
): boolean => {
  if (URL.canParse(baseUrl) && URL.canParse(url) && new URL(url).origin === new URL(baseUrl).origin)
    return new URL(url).username === ''
  const host = hostOf(url)
  if (host === undefined || !url.startsWith('https://') || new URL(url).username !== '') return false
  return hosts.some((own) => host === own || host.endsWith(`.${own}`))
}

const isSignedAt = (host: string, url: string): boolean =>
  URL.canParse(url) && new URL(url).origin === `https://${host}` && new URL(url).username === ''

const BARE = { 'accept-encoding': 'identity' }

/** Dot segments, which lead elsewhere than what was checked says. A vendor's own ids and addresses have none. */
const DOTS = /(?:^|[/\\])(?:\.|%2e){1,2}(?:[/\\]|$)/i

type Step = {
  readonly deployment: Deployment
  readonly shape: Pick<JobShape, 'hosts'>
  /** The call's id, which also serves as the boundary of forms. */
  readonly id: string
  /** Who its answer is counted for. */
  readonly taken: Taken
  /** The conditions under which it goes; `NO_CONDITIONS` where nothing of the caller's goes with it that is not there. */
  readonly under: readonly Condition[] | undefined
}

/** Sends it and reads the answer. Throws VendorFault, or the Refusal of an answer that finds no room. */
export const askStep = async (gateway: Gateway, step: Step, outgoing: Outgoing): Promise<VendorAnswer> =>
  readWhole(await beginStep(gateway, step, outgoing))

/** The storage that the vendor's batches read and write, in place of the vendor. */
const inStorage = (deployment: Deployment): Deployment => {
  const { storage } = deployment.setup.jobs ?? {}
  if (storage === undefined)
    throw new VendorFault('body', 'there is no credential for the bucket of batches', { mayBill: false })
  return { ...deployment, setup: { ...deployment.setup, ...storage } }
}

/** Sends it; the answer is still to be read. Throws VendorFault. */
export const beginStep = async (
  gateway: Gateway,
  { deployment, shape, id, taken, under }: Step,
  outgoing: Outgoing,
): Promise<Exchange> => {
  const at = outgoing.inBucket === true ? inStorage(deployment) : deployment
  const { setup } = at
  const { method, path, headers, body } = encodeOutgoing(outgoing, id)
  const absolute = !path.startsWith('/')
  const url = absolute ? path : setup.baseUrl + path
  const { signedAt } = outgoing
  const isTheirs = signedAt === undefined ? isOwn(setup, shape, url) : isSignedAt(signedAt, url)
  if (DOTS.test(path.split(/[?#]/)[0] ?? '') || (absolute && !isTheirs))
    throw new VendorFault('body', "the vendor named an address that is not the vendor's own", {
      mayBill: false,
    })
  const own = signedAt === undefined ? await authorized(at, under, { url, body, method }) : BARE
  return exchange({
    fetch: setup.fetch ?? fetch,
    url,
    method,
    headers: { ...own, ...headers },
    body,
    timeouts: gateway.options.timeouts,
    counting: new CountedAnswer(gateway.capacity, taken),
  })
}

const decoder = new TextDecoder()

/** A vendor's answer, of any status. */
export const readWhole = async (answer: Exchange): Promise<VendorAnswer> => {
  const bytes = await answer.all()
  const header = (name: string) => answer.headers.get(name) ?? undefined
  return { status: answer.status, header, bytes, json: jsonIn(bytes, header('content-type')) }
}

export const jsonIn = (bytes: Uint8Array, type = ''): Json | undefined =>
  /json/i.test(type) || type === '' ? parseJson(decoder.decode(bytes)) : undefined

/** The vendor's key for a result on one of its own hosts; undefined for any other host. */
export const credentialFor = (at: Deployment, shape: JobShape) => async (url: string) => {
  const host = hostOf(url)
  if (host === undefined || !isOwn(at.setup, shape, url)) return undefined
  const { 'content-type': _type, ...headers } = await authorized(at, NO_CONDITIONS, {
    url,
    body: new Uint8Array(),
  })
  return { headers, hosts: [host] }
}
