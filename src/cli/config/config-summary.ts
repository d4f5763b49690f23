/** What a configuration sells, as names and values that can be compared, counted and shown; it contains no secret. */
import { isObject, present } from '../../core/json-body.ts'
import { modelListing } from '../../products/model-listing.ts'
import type { VendorSetup } from '../../vendors/setup.ts'
import type { Config } from './config.ts'
import type { OpenCatalogue } from './open-catalogue.ts'
import type { KeyHash } from './parts.ts'

/** Things that are sold, by name, each with its members. */
export type Summary = ReadonlyMap<string, Readonly<Record<string, string>>>

const FINGERPRINT = 8

/** Equal for equal secrets, and reveals nothing about them. */
export const fingerprintOf = (hash: KeyHash, secret: string): string =>
  hash(`fingerprint ${secret}`).slice(0, FINGERPRINT)

export const summaryOf = (
  config: Pick<Config, 'aliases' | 'gateway' | 'markup' | 'discount'>,
  opened: Pick<OpenCatalogue, 'catalogue' | 'vendors' | 'failover'>,
  hash: KeyHash,
): Summary => {
  const { markup, discount } = config
  const named = (kind: string, entries: Iterable<readonly [string, Readonly<Record<string, string>>]>) =>
    [...entries].map(([name, members]) => [`${kind} ${name}`, members] as const)
  return new Map([
    ['prices', { markup, discount }],
    ...named(
      'vendor',
      [...opened.vendors].map(([id, setup]) => [id, vendorMembers(setup, hash)]),
    ),
    ...named(
      'model',
      opened.catalogue.list().map((model) => {
        const { upstreamName } = model
        const {
          id,
          object: _object,
          type: _type,
          ...listing
        } = modelListing(model, config.gateway.creditNano)
        return [id, { upstream_name: upstreamName, ...flat(listing) }]
      }),
    ),
    ...named(
      'alias',
      Object.entries(config.aliases).map(([alias, model]) => [alias, { model }]),
    ),
    ...named(
      'failover of',
      [...opened.failover].map(([id, equals]) => [id, { models: equals.join(', ') }]),
    ),
  ])
}

const vendorMembers = (
  { vendor, baseUrl, secrets, weights, priorities, batches, bucket }: VendorSetup,
  hash: KeyHash,
): Record<string, string> => ({
  address: baseUrl,
  ...(vendor.surfaces.length === 0 ? {} : { speaks: vendor.surfaces.join(', ') }),
  keys: secrets
    .map((secret, at) => {
      const [weight = 1, priority = 0] = [weights?.[at], priorities?.[at]]
      const more = `${weight === 1 ? '' : ` × ${weight}`}${priority === 0 ? '' : ` behind ${priority}`}`
      return `${fingerprintOf(hash, secret.reveal())}${more}`
    })
    .join(', '),
  ...(batches === undefined ? {} : flat({ batches })),
  ...(bucket === undefined ? {} : flat({ batch: present(bucket) })),
})

/** The members of a value, by their paths, as texts. */
const flat = (value: Readonly<Record<string, unknown>>, above = ''): Record<string, string> =>
  Object.fromEntries(
    Object.entries(value).flatMap(([name, member]): [string, string][] =>
      isObject(member)
        ? Object.entries(flat(member, `${above}${name}.`))
        : [[`${above}${name}`, typeof member === 'string' ? member : JSON.stringify(member)]],
    ),
  )

/** What the second one sells differently, one line each: added (`+`), removed (`-`), changed (`~`). */
export const changesBetween = (before: Summary, after: Summary): readonly string[] => {
  const gone = [...before.keys()].filter((name) => !after.has(name)).map((name) => `- ${name}`)
  const others = [...after].flatMap(([name, members]) => {
    const known = before.get(name)
    if (known === undefined) return [`+ ${name}`]
    const names = [...new Set([...Object.keys(known), ...Object.keys(members)])]
    const changed = names.filter((one) => known[one] !== members[one])
    const changes = changed.map((one) => `${one} ${shown(known[one])} → ${shown(members[one])}`)
    return changes.length === 0 ? [] : [`~ ${name}: ${changes.join('; ')}`]
  })
  return [...gone, ...others]
}

const shown = (member: string | undefined): string =>
  member === undefined || member === '' ? 'none' : member
