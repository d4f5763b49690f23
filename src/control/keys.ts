/** Acts on keys: list, show, make; and what a key has spent. */

import { z } from 'zod'
import { namedObject } from '../core/body.ts'
import { present } from '../core/json-body.ts'
import { greatest } from '../core/money.ts'
import { invalid, must, Refusal } from '../core/refusal.ts'
import type { LeftToSpend } from '../store/accounts/tenancy-port.ts'
import type { Key } from '../tenancy/key.ts'
import { keyLabel, limitMembers, saysWhat, toLimits } from '../tenancy/limits-body.ts'
import { type Acting, act } from './act.ts'
import { keyNamed, keyScope, noSuchKey } from './key-named.ts'
import { madeShown, makeKey } from './make-key.ts'
import { count, flag, name } from './read.ts'
import { readLimits } from './read-limits.ts'
import { estimatesShown, keyShape, keyShown, showKeys, spentShown, usd } from './shown-key.ts'
import { may } from './who.ts'

/** The key as it is now. Throws the 404. */
export const showOne = async (acting: Acting, id: string) => {
  const [line] = await acting.control.store.reports.keys({ orgs: 'all', which: 'all', id, most: 1 })
  const [one] = line === undefined ? [] : await showKeys(acting, [line])
  return must(one ?? noSuchKey(acting))
}

/** Whether a page may begin after that key: it is one of the list. */
const isListed = async (acting: Acting, id: string): Promise<boolean> => {
  const { reach } = acting.who
  if (reach.of === 'key' && id === reach.key.id) return false
  const unknown = (thrown: unknown): undefined => {
    if (!(thrown instanceof Refusal)) throw thrown
  }
  return (await keyNamed(acting, id, 'read').catch(unknown)) !== undefined
}

export const keyList = act({
  name: 'key.list',
  summary: 'Keys, newest first: those below the calling key, or those of the organisation.',
  reads: ['read', 'read_own'],
  input: {
    which: z.enum(['own', 'tenants', 'all'], 'must be own, tenants or all').optional(),
    search: z.string().optional(),
    organisation: name.optional(),
    team: name.optional().describe('Only keys of this team'),
    deleted: flag(),
    limit: count(1, 1_000),
    after: z.string().optional(),
  },
  shows: namedObject('KeyList', {
    object: z.literal('list'),
    data: z.array(keyShown),
    has_more: z.boolean(),
  }),
  does: async (acting, asked) => {
    const { which = 'all', search, organisation, team, deleted = false, limit = 100, after } = asked
    if (after !== undefined && !(await isListed(acting, after)))
      throw invalid('after', "'after' must be the id of a key of this list: the last one of the page before.")
    const lines = await acting.control.store.reports.keys({
      ...keyScope(acting, 'read', organisation),
      which,
      deleted,
      ...(search === undefined || search === '' ? {} : { search }),
      ...present({ team, after }),
      most: limit + 1,
    })
    const data = await showKeys(acting, lines.slice(0, limit))
    return { object: 'list' as const, data: [...data], has_more: lines.length > limit }
  },
})

const around = z.object({ id: z.string(), prefix: z.string() }).nullable()

export const keyGet = act({
  name: 'key.get',
  summary: 'One key, with those before and after it by rotation; deleted keys too.',
  reads: ['read', 'read_own'],
  input: { key: name },
  shows: namedObject('KeyDetail', {
    ...keyShape,
    replaces: around.describe('The key that this one replaced by rotation'),
    replaced_by: around.describe('The key that replaced this one'),
    keys_below: z.int().describe('Keys below it that are not deleted'),
  }),
  does: async (acting, { key: named }) => {
    const { store } = acting.control
    const line = await keyNamed(acting, named, 'read')
    const { id, orgId } = line.key
    const { orgs: _own, below: _below, ...owner } = keyScope(acting, 'read')
    const first = line.tenantId ?? id
    const { replaces, replacedBy } = await store.reports.keysAround({
      orgId,
      id,
      first,
      ...owner,
    })
    const [one] = await showKeys(acting, [line])
    return {
      ...must(one ?? noSuchKey(acting)),
      replaces: replaces === undefined ? null : { ...replaces },
      replaced_by: replacedBy === undefined ? null : { ...replacedBy },
      keys_below: await store.keys.countBelow(id),
    }
  },
})

export const keyCreate = act({
  name: 'key.create',
  summary: 'Makes a key; its value is shown once. A repeat with the same Idempotency-Key gets the same key.',
  changes: ['keys', 'keys_own'],
  input: {
    label: keyLabel,
    sub_wallet: z.string('must be the id of a sub-wallet, or absent').optional(),
    wallet: z.string('must be the id of a wallet, or absent').optional(),
    parent: z.string('must be the id of a key, or absent').optional(),
    idempotency_key: z.string().optional(),
    ...limitMembers,
    disabled: z.null('is for keys that there are; leave it out').optional(),
  },
  check: saysWhat,
  strangers: toLimits,
  shows: namedObject('NewKeyShown', { ...keyShape, key: z.string().describe('The key; shown only now') }),
  does: async (acting, { label, sub_wallet: sub, wallet, parent, idempotency_key: attempt, ...rest }) => {
    const limits = readLimits(acting.control, rest)
    // Somebody limited to their own keys cannot make one that manages the wallet.
    const given = may(acting.who, 'keys') ? limits : { ...limits, canManage: false }
    const made = await makeKey(acting, { label, limits: given, sub, wallet, parent, attempt })
    return madeShown(await showOne(acting, made.key.id), made.token)
  },
})

/** Whose limit it is, in words that reveal no other key's name. */
const ownerOf = (target: Key, { owner }: LeftToSpend): 'key' | 'parent' | 'account' =>
  owner === undefined ? 'account' : owner === target.id ? 'key' : 'parent'

export const keyUsage = act({
  name: 'key.usage',
  summary: 'Limits and spending of a key; deleted keys too.',
  reads: ['read', 'read_own'],
  input: { key: name },
  shows: namedObject('KeyUsage', {
    ...keyShape,
    held_usd: usd,
    remaining_usd: usd.describe('The smallest remainder of all limits, with charges and holds counted'),
    limited_by: z
      .object({
        limit: z.string().describe('The limit that leaves the least, named as in a 402'),
        of: z.enum(['key', 'parent', 'account']),
      })
      .nullable(),
  }),
  does: async (acting, { key: named }) => {
    const { store } = acting.control
    const line = await keyNamed(acting, named, 'read')
    const { key } = line
    const spend = await store.keys.spend(key.id)
    const left = key.deleted ? undefined : await store.keys.left(key.id)
    const [one] = await showKeys(acting, [line])
    return {
      ...must(one ?? noSuchKey(acting)),
      ...spentShown(spend),
      ...estimatesShown(spend.estimated),
      requests: spend.requests,
      held_usd: spend.held,
      remaining_usd: greatest(left?.amount ?? 0n, 0n),
      limited_by: left === undefined ? null : { limit: left.limit, of: ownerOf(key, left) },
    }
  },
})
