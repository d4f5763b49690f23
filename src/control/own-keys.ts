/** Acts on the keys that an organisation has at vendors itself: tried before they are kept, sealed, and never shown again. */
import { z } from 'zod'
import { type GuestRates, newGuestRates } from '../admission/guest-rates.ts'
import { triesLimited } from '../admission/rate.ts'
import { namedObject } from '../core/body.ts'
import { invalid, must, refuse } from '../core/refusal.ts'
import { Secret } from '../core/secret.ts'
import { newIdOf } from '../core/time.ts'
import { ownRests } from '../gateway/ask/own-places.ts'
import { tryKey } from '../gateway/ask/try-key.ts'
import type { OwnKey } from '../store/own-keys/own-key-port.ts'
import type { OwnKeyRing } from '../transport/own-key-ring.ts'
import type { VendorSetup } from '../vendors/setup.ts'
import { type Acting, act } from './act.ts'
import { orgOf } from './org-of.ts'
import { count, flag, isoOf, name } from './read.ts'
import { time } from './shown-key.ts'

const LAST = 4

const organisation = name.optional()
const which = { organisation, own_key: name.describe('The id of the key') }
const vendor = z.string('must be the id of a vendor').min(1).max(40)
const value = z
  .string("must be the vendor's key")
  .regex(/^[\x21-\x2b\x2d-\x7e]{8,4096}$/, 'must be a key of 8 to 4,096 letters without blanks and commas')

const keyShown = namedObject('OwnKey', {
  id: z.string(),
  vendor: z.string(),
  key: z.string().describe('Its last four letters'),
  place: z.int().describe('Lower ones are asked first'),
  enabled: z.boolean(),
  resting_until: time
    .nullable()
    .describe(
      'Until when this process asks it last, with one model or all, after its vendor refused or failed',
    ),
  fall_back: z
    .boolean()
    .describe("Whether the house's keys are asked, at the list price, where the organisation's own fail"),
  added_by: z.string(),
  added_at: time,
})

const shown = (
  key: OwnKey,
  falls: ReadonlySet<string>,
  restingUntil: number | undefined,
): z.output<typeof keyShown> => ({
  ...{ id: key.id, vendor: key.vendor, key: `…${key.lastFour}`, place: key.place, enabled: key.enabled },
  ...{
    resting_until: restingUntil === undefined ? null : isoOf(restingUntil),
    fall_back: falls.has(key.vendor),
    added_by: key.addedBy,
    added_at: isoOf(key.createdAt),
  },
})

const noSuch = () => refuse('not_found', 'The organisation has no such key of its own.')

const listIn = async ({ control: { store, ownKeys: ring, clock } }: Acting, orgId: string) => {
  const [keys, falls] = await Promise.all([store.ownKeys.list(orgId), store.ownKeys.falls(orgId)])
  const rests = ring && ownRests(ring, orgId, clock.monotonicMs())
  return keys.map((key) => {
    const leftMs = rests?.get(key.id)
    return shown(key, falls, leftMs && clock.now() + Math.ceil(leftMs))
  })
}

const found = async (acting: Acting, orgId: string, id: string) =>
  must((await listIn(acting, orgId)).find((one) => one.id === id) ?? noSuch())

const ringOf = ({ control }: Acting): OwnKeyRing => {
  if (control.ownKeys === undefined) throw refuse('not_found', 'Nothing here seals keys of vendors.')
  return control.ownKeys
}

const tries = new WeakMap<OwnKeyRing, GuestRates>()

/** Asks the vendor whether it takes the key, so often a minute: who has stolen keys must not sort them here. */
const tried = (acting: Acting, orgId: string, { setup, secret }: { setup: VendorSetup; secret: Secret }) => {
  const { clock, options } = acting.control
  const ring = ringOf(acting)
  const rates = tries.get(ring) ?? newGuestRates()
  tries.set(ring, rates)
  const { admitted, leftMs } = rates.take(orgId, options.ownKeyRpm, clock.monotonicMs())
  if (!admitted) throw triesLimited(options.ownKeyRpm, leftMs)
  return tryKey(setup, secret)
}

/** The vendor, if this server reaches it with one key. */
const setupFor = ({ control: { offering } }: Acting, id: string): VendorSetup => {
  const setup = offering.vendors?.get(id)
  if (setup === undefined || setup.authorize !== undefined || setup.vendor.keyVariable === '')
    throw invalid(
      'vendor',
      `'vendor' is not the id of a vendor that this server reaches with one key: ${id}.`,
    )
  return setup
}

export const ownKeyList = act({
  name: 'own_key.list',
  summary:
    'The keys that the organisation has at vendors itself, in the order in which they are asked; never a whole one.',
  reads: ['rules'],
  input: { organisation },
  shows: namedObject('OwnKeyList', { data: z.array(keyShown) }),
  does: async (acting, { organisation: named }) => ({ data: await listIn(acting, orgOf(acting, named)) }),
})

export const ownKeyAdd = act({
  name: 'own_key.add',
  summary:
    "Tries a key at its vendor and keeps it sealed. From then on calls of the organisation use it, and none the house's key of that vendor.",
  changes: ['rules'],
  input: {
    organisation,
    vendor,
    value,
    instead: name.optional().describe('The key whose place it takes, which is removed'),
    untested: flag().describe('Keeps it also if the vendor does not say whether it takes the key'),
  },
  shows: keyShown,
  does: async (acting, { organisation: named, vendor: at, value: key, instead, untested = false }) => {
    const { control, who } = acting
    const orgId = orgOf(acting, named)
    const setup = setupFor(acting, at)
    const outcome = await tried(acting, orgId, { setup, secret: new Secret(key) })
    if (outcome === 'refused')
      throw invalid('value', `${setup.vendor.name} refuses this key, so it was not kept.`)
    if (outcome === 'unknown' && !untested)
      throw invalid(
        'untested',
        `${setup.vendor.name} did not say whether it takes this key. Try again, or keep it with 'untested'.`,
      )
    const id = newIdOf('vk')
    const sealed = await ringOf(acting).seal(orgId, { id, vendor: at }, key)
    const row = { id, orgId, vendor: at, sealed, lastFour: key.slice(-LAST), instead }
    const made = await control.store.ownKeys.add(row, who.actor)
    if (made === 'too_many')
      throw refuse(
        'forbidden',
        'The organisation has as many keys of this vendor as it may have; remove one first.',
      )
    await control.book.untilKnown(must(made ?? noSuch()).at)
    return found(acting, orgId, id)
  },
})

export const ownKeyChange = act({
  name: 'own_key.change',
  summary:
    "Turns a key on or off, asks it earlier or later, or lets calls of its vendor fall back to the house's key where the organisation's own fail.",
  changes: ['rules'],
  input: {
    ...which,
    enabled: flag(),
    place: count(1, 16).describe('Among the keys of its vendor, from 1'),
    fall_back: flag().describe('For all keys of its vendor'),
  },
  shows: keyShown,
  does: async (acting, { organisation: named, own_key: id, fall_back: fallBack, ...rest }) => {
    const orgId = orgOf(acting, named)
    const { control, who } = acting
    const change = { ...rest, fallBack }
    if (Object.values(change).every((one) => one === undefined))
      throw invalid('enabled', "One of 'enabled', 'place' and 'fall_back' is required.")
    const changed = await control.store.ownKeys.change({ orgId, id }, change, who.actor)
    await control.book.untilKnown(must(changed ?? noSuch()).at)
    return found(acting, orgId, id)
  },
})

export const ownKeyRemove = act({
  name: 'own_key.remove',
  summary:
    "Removes a key, on all processes. After the last one of a vendor its calls use the house's key again, at the list price.",
  changes: ['rules'],
  input: which,
  shows: namedObject('OwnKeyRemoved', {
    id: z.string(),
    removed: z.literal(true),
    left: z.int().describe('Keys of that vendor that are left'),
  }),
  does: async (acting, { organisation: named, own_key: id }) => {
    const orgId = orgOf(acting, named)
    const { control, who } = acting
    const was = await found(acting, orgId, id)
    const removed = await control.store.ownKeys.remove({ orgId, id }, who.actor)
    await control.book.untilKnown(must(removed ?? noSuch()).at)
    const left = (await control.store.ownKeys.list(orgId)).filter((one) => one.vendor === was.vendor)
    return { id, removed: true as const, left: left.length }
  },
})

export const ownKeyTry = act({
  name: 'own_key.try',
  summary: 'Asks the vendor whether it takes a key that was kept.',
  reads: ['rules'],
  input: which,
  shows: namedObject('OwnKeyTried', { id: z.string(), outcome: z.enum(['taken', 'refused', 'unknown']) }),
  does: async (acting, { organisation: named, own_key: id }) => {
    const orgId = orgOf(acting, named)
    const key = await found(acting, orgId, id)
    const rows = await acting.control.store.ownKeys.sealed(orgId, key.vendor)
    const row = must(rows.find((one) => one.id === id) ?? noSuch())
    const secret = await ringOf(acting).open(orgId, row)
    return { id, outcome: await tried(acting, orgId, { setup: setupFor(acting, key.vendor), secret }) }
  },
})
