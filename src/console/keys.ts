/**
 * Keys in the console: listed, made, changed, rotated, deleted. A person limited to their own keys sees and changes
 * only those.
 */

import { invalid, refuse } from '../core/refusal.ts'
import { checkAliases } from '../gateway/aliases.ts'
import type { KeyChange } from '../store/accounts/tenancy-port.ts'
import type { KeyAround, KeyLine, KeyLineQuery } from '../store/reports/report-port.ts'
import type { Key } from '../tenancy/key.ts'
import { type LimitsBody, newKeyBody } from '../tenancy/limits-body.ts'
import { actorOf, type ConsoleRoute, type Here, may, type Reply, type Within, within } from './here.ts'
import { makeKey, noSuchKey, walletOf } from './make-key.ts'
import { bodied, storable } from './read.ts'
import { keyChangeBody, keyList, keyMade, keyPage, keyShown } from './schema/keys.ts'
import { most } from './schema/reports.ts'
import { done } from './schema/shared.ts'
import { shownKey } from './shown-key.ts'

/** Whose keys the person may see or change. */
const ownOnly = (here: Within, act: 'read' | 'keys'): Pick<KeyLineQuery, 'madeBy'> =>
  may(here, act) ? {} : { madeBy: here.session.personId }

const listKeys = async (context: Here): Promise<Reply> => {
  const here = within(context)
  const { query } = here.request
  const which = query.get('which') ?? 'own'
  if (which !== 'own' && which !== 'tenants' && which !== 'all')
    throw invalid('which', "'which' must be own, tenants or all.")
  const count = most(query.get('limit'), 100, 1_000)
  const [search, after] = [query.get('search'), query.get('after')]
  const lines = await here.gateway.store.reports.keys({
    orgId: here.session.orgId,
    which,
    ...ownOnly(here, 'read'),
    ...(search === undefined || search === '' ? {} : { search }),
    ...(after === undefined ? {} : { after }),
    most: count + 1,
  })
  return {
    value: {
      data: lines.slice(0, count).map((line) => shownKey(here.gateway, line)),
      has_more: lines.length > count,
    },
  }
}

/** The key in the address, if the person may see it (`read`) or change it (`keys`). */
const target = async (here: Within, act: 'read' | 'keys'): Promise<KeyLine> => {
  const [line] = await here.gateway.store.reports.keys({
    orgId: here.session.orgId,
    which: 'all',
    id: here.request.params.id ?? '',
    ...ownOnly(here, act),
    most: 1,
  })
  if (line === undefined) throw noSuchKey()
  return line
}

const getKey = async (context: Here): Promise<Reply> => {
  const here = within(context)
  const line = await target(here, 'read')
  const { replaces, replacedBy } = await here.gateway.store.reports.keysAround({
    orgId: here.session.orgId,
    id: line.key.id,
    first: line.tenantId ?? line.key.id,
    ...ownOnly(here, 'read'),
  })
  const below = await here.gateway.store.keys.countBelow(line.key.id)
  const shown = (key: KeyAround | undefined) => (key === undefined ? null : { ...key })
  return {
    value: {
      ...shownKey(here.gateway, line),
      replaces: shown(replaces),
      replaced_by: shown(replacedBy),
      below,
    },
  }
}

const createKey = async (
  context: Here,
  { label, limits, sub }: { label: string; limits: LimitsBody; sub: string | undefined },
): Promise<Reply> => {
  const here = within(context)
  // A person limited to their own keys cannot make one that manages the wallet.
  const given = may(here, 'keys') ? limits : { ...limits, canManage: false }
  return { value: await makeKey(here, await walletOf(here), { label, limits: given, sub }), status: 201 }
}

/**
 * How a person disables or enables a key. Who is limited to their own keys does it under a name of theirs, and so enables
 * no key that an owner or admin has disabled.
 */
const blockOf = (
  here: Within,
  key: Key,
  disabled: boolean,
): Pick<KeyChange, 'disabledReason' | 'together'> => {
  const together = `maker ${here.session.personId}`
  if (may(here, 'keys')) return { disabledReason: disabled ? 'operator' : null }
  if (disabled) return { disabledReason: 'operator', together }
  if (key.disabledReason !== 'operator') return { disabledReason: null }
  if (key.disabledBy === together) return { disabledReason: null, together }
  throw refuse('forbidden', 'Somebody else disabled this key; an owner or admin can enable it.')
}

/** Resolves once no process admits a call on the old limits. */
const changeKey = async (
  context: Here,
  { label, limits = {} }: { label?: string | undefined; limits?: LimitsBody | undefined },
): Promise<Reply> => {
  const here = within(context)
  const { gateway } = here
  const { key } = await target(here, 'keys')
  if (key.deleted) throw noSuchKey()
  const unsold = checkAliases(gateway.offering.catalogue, limits.aliases)
  if (unsold) throw unsold
  const { disabled, canManage, ...others } = limits
  const changed = await gateway.book.changeKey(
    key.id,
    {
      ...others,
      ...(canManage === undefined || !may(here, 'keys') ? {} : { canManage }),
      ...(label === undefined ? {} : { label: storable(label) }),
      ...(disabled === undefined ? {} : blockOf(here, key, disabled)),
      byCreator: true,
    },
    actorOf(here),
  )
  if (changed === undefined) throw noSuchKey()
  return { value: shownKey(gateway, { ...(await target(here, 'keys')), key: changed }) }
}

/** Resolves once no process admits a call of the key. Keys below it go on unless they are to be deleted too. */
const deleteKey = async (context: Here): Promise<Reply> => {
  const here = within(context)
  const { key } = await target(here, 'keys')
  const along = here.request.query.get('with_children') === 'true'
  if (key.deleted || !(await here.gateway.book.deleteKey(key.id, along, actorOf(here)))) throw noSuchKey()
  return { value: { done: true } }
}

/**
 * A new key with the limits and the state of the old one, which stays valid until it is deleted. The limits bind both
 * together, and what was spent counts: a rotation changes the value, never how much may be spent, nor who may enable it.
 */
const rotateKey = async (context: Here): Promise<Reply> => {
  const here = within(context)
  const { key, reference, tenantId } = await target(here, 'keys')
  if (key.deleted) throw noSuchKey()
  const parentId = key.ancestors[0]
  const parent = parentId === undefined ? undefined : await here.gateway.store.keys.key(parentId)
  const made = await makeKey(here, key.walletId, {
    label: key.label,
    limits: {
      ...key.limits,
      canManage: key.canManage,
      ...(key.aliases === undefined ? {} : { aliases: key.aliases }),
    },
    sub: key.subWallet,
    reference,
    replaces: { key, tenantId: tenantId ?? key.id },
    ...(parent === undefined ? {} : { parent }),
  })
  return { value: made, status: 201 }
}

const id = '/keys/:id'

export const keyRoutes: readonly ConsoleRoute[] = [
  {
    method: 'GET',
    path: '/keys',
    summary: 'The keys of the organisation, newest first; `which` is own, tenants or all.',
    audience: ['read', 'read_own'],
    query: ['which', 'search', 'after', 'limit'],
    answer: keyList,
    handler: listKeys,
  },
  bodied({
    method: 'POST',
    path: '/keys',
    summary: 'Makes a key; its value is shown once.',
    audience: ['keys', 'keys_own'],
    body: newKeyBody,
    answer: keyMade,
    statuses: [201],
    handler: createKey,
  }),
  {
    method: 'GET',
    path: id,
    summary: 'One key, with those before and after it by rotation; deleted keys too.',
    audience: ['read', 'read_own'],
    answer: keyPage,
    handler: getKey,
  },
  bodied({
    method: 'PUT',
    path: id,
    summary: 'Changes label and limits; answers once they apply on every process.',
    audience: ['keys', 'keys_own'],
    body: keyChangeBody,
    answer: keyShown,
    handler: changeKey,
  }),
  {
    method: 'DELETE',
    path: id,
    summary:
      'Deletes a key, and with `with_children=true` also those below it; answers once no process admits a call of theirs.',
    audience: ['keys', 'keys_own'],
    query: ['with_children'],
    answer: done,
    handler: deleteKey,
  },
  {
    method: 'POST',
    path: `${id}/rotate`,
    summary:
      'Makes a new key with the same limits, disabled if the old one is; the old one stays valid until it is deleted.',
    audience: ['keys', 'keys_own'],
    answer: keyMade,
    statuses: [201],
    handler: rotateKey,
  },
]
