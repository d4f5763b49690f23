/** Acts on the keys that the house has at vendors: a key is tried before it is kept, and in use on all processes when they answer. */
import { z } from 'zod'
import { namedObject } from '../../core/body.ts'
import { invalid, refuse } from '../../core/refusal.ts'
import { Secret } from '../../core/secret.ts'
import { tryKey } from '../../gateway/ask/try-key.ts'
import type { NewEvent } from '../../store/people/event-port.ts'
import { HOUSE } from '../../store/people/machine-port.ts'
import type { VendorSetup } from '../../vendors/setup.ts'
import { type Acting, act } from '../act.ts'
import { flag } from '../read.ts'
import { applyConfig } from './config.ts'
import { serverOf } from './system.ts'

/** How many letters at its end a key is known by. */
const KNOWN_BY = 4

const shownAs = (key: string): string => `…${key.slice(-KNOWN_BY)}`

const keyShown = namedObject('VendorKey', {
  vendor: z.string(),
  key: z.string().describe('Its last four letters'),
  tested: z.boolean().describe('Whether the vendor was seen to take it'),
  changes: z.array(z.string()).describe('What is sold since then'),
})

const vendorName = z.string('must be the id of a vendor').min(1).max(40)

const keysOf = (acting: Acting) => {
  const { config } = serverOf(acting)
  if (config?.keys === undefined)
    throw refuse('not_found', 'This server keeps no keys of vendors: VENDOR_KEYS names a folder for them.')
  return config.keys
}

/** The vendor that a key is for, on or off. */
const setupFor = (acting: Acting, id: string): VendorSetup => {
  const keys = keysOf(acting)
  const setup = serverOf(acting).offering.vendors.get(id) ?? keys.offSetup(id)
  if (setup === undefined || setup.authorize !== undefined || setup.vendor.keyVariable === '')
    throw invalid('vendor', `'vendor' is not the id of a vendor that is reached with one key: ${id}.`)
  return setup
}

type Told = Pick<NewEvent, 'what' | 'subject' | 'before' | 'after'>

/**
 * Reads the configuration again and notes the event. The change is taken back if the one cannot be used or the other
 * cannot be written.
 */
const applied = async (acting: Acting, told: Told, undo: () => void): Promise<readonly string[]> => {
  const { outcome, errors, changes } = await applyConfig(acting)
  if (outcome !== 'applied') {
    undo()
    throw invalid(
      'key',
      `The configuration cannot be used with it, so nothing has changed: ${errors.join('; ')}`,
    )
  }
  try {
    await acting.control.store.events.record({ actor: acting.who.actor, orgId: HOUSE, ...told })
  } catch (error) {
    undo()
    await applyConfig(acting)
    throw error
  }
  return changes
}

export const vendorKeyAdd = act({
  name: 'vendor.key_add',
  summary: 'Tries a key at its vendor, and adds it to those that calls use, on all processes.',
  changes: ['system'],
  input: {
    vendor: vendorName,
    key: z
      .string("must be the vendor's key")
      .regex(/^[^\s,]{8,4096}$/, 'must be a key of 8 to 4,096 letters without blanks and commas'),
    untested: flag().describe('Adds it also if the vendor does not say whether it takes the key'),
  },
  shows: keyShown,
  does: async (acting, { vendor: id, key, untested = false }) => {
    const setup = setupFor(acting, id)
    const { name, keyVariable } = setup.vendor
    if (setup.secrets.some((one) => one.reveal() === key))
      throw invalid('key', `${name} is asked with this key already.`)
    const outcome = await tryKey(setup, new Secret(key))
    if (outcome === 'refused') throw invalid('key', `${name} refuses this key, so it was not added.`)
    if (outcome === 'unknown' && !untested)
      throw invalid(
        'untested',
        `${name} at ${setup.baseUrl} did not say whether it takes this key. Try again, or add it with 'untested'.`,
      )
    const keys = keysOf(acting)
    keys.add(keyVariable, key)
    const after = { key: shownAs(key), tested: outcome === 'taken' }
    const told = { what: 'vendor.key_added', subject: id, after }
    const changes = await applied(acting, told, () => keys.remove(keyVariable, key))
    return { vendor: id, ...after, changes: [...changes] }
  },
})

export const vendorKeyRemove = act({
  name: 'vendor.key_remove',
  summary: 'Removes a key of a vendor that was added here, on all processes.',
  changes: ['system'],
  input: {
    vendor: vendorName,
    key: z.string().regex(/^…?[^\s,]{4}$/, 'must be the last four letters of the key'),
  },
  shows: keyShown.pick({ vendor: true, key: true, changes: true }).meta({ id: 'VendorKeyRemoved' }),
  does: async (acting, { vendor: id, key }) => {
    const { vendor } = setupFor(acting, id)
    const end = key.slice(-KNOWN_BY)
    const keys = keysOf(acting)
    const removed = keys.remove(vendor.keyVariable, end)
    const [first] = removed
    if (first === undefined)
      throw refuse(
        'not_found',
        `No key of ${vendor.name} that ends so was added here; others are in the settings.`,
      )
    const before = { key: shownAs(first) }
    const told = { what: 'vendor.key_removed', subject: id, before }
    const changes = await applied(acting, told, () => {
      for (const one of removed) keys.add(vendor.keyVariable, one)
    })
    return { vendor: id, ...before, changes: [...changes] }
  },
})
