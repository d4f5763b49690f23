/** Keys made in the console: their values are random, shown once and never stored. */
import { must, type Refusal, refuse } from '../core/refusal.ts'
import { checkAliases } from '../gateway/aliases.ts'
import { newId, newToken, prefixOf } from '../gateway/new-token.ts'
import type { KeyNote, NewKey, ReferenceTaken } from '../store/accounts/tenancy-port.ts'
import type { Key } from '../tenancy/key.ts'
import type { LimitsBody } from '../tenancy/limits-body.ts'
import { checkWithin } from '../tenancy/rights.ts'
import { actorOf, type Within } from './here.ts'
import { storable } from './read.ts'
import type { KeyMadeShown } from './schema/keys.ts'
import { shownKey } from './shown-key.ts'

/** The wallet that pays for the organisation's keys: its first one. */
export const walletOf = async ({ gateway, session }: Within): Promise<string> => {
  const [wallet] = await gateway.store.reports.walletsOf(session.orgId)
  if (wallet === undefined) throw refuse('not_found', 'The organisation has no wallet.')
  return wallet
}

/** What people see in place of what is not theirs: the same as for what does not exist. */
export const noSuchKey = () => refuse('not_found', 'There is no such key, or it is not yours.')

type Wanted = {
  readonly label: string
  readonly limits: LimitsBody
  readonly sub?: string | undefined
  readonly reference?: string | undefined
  readonly parent?: Key
  /** The key whose place it takes, and the tenant of that one. */
  readonly replaces?: { readonly key: Key; readonly tenantId: string }
}

const nothing = { spent: 0n, spentThisMonth: 0n, requests: 0 }

const limitsOf = (body: LimitsBody): NewKey['limits'] => {
  const { disabled: _, canManage: _right, withChildren: _below, aliases: _names, ...limits } = body
  return Object.fromEntries(Object.entries(limits).filter(([, limit]) => limit !== null))
}

/** Why these limits may not be given. */
export const wrongLimits = ({ gateway }: Within, { limits, parent }: Wanted): Refusal | undefined =>
  checkAliases(gateway.offering.catalogue, limits.aliases) ??
  (parent === undefined ? undefined : checkWithin(parent, limits, gateway.options.planRpm))

const checkWanted = async (here: Within, walletId: string, wanted: Wanted): Promise<void> => {
  const { gateway } = here
  const { sub, replaces } = wanted
  // A value that is to be replaced may have leaked, so nothing is in the way of that: what was given stays as it is.
  if (replaces !== undefined) return
  const refusal = wrongLimits(here, wanted)
  if (refusal !== undefined) throw refusal
  if (
    sub !== undefined &&
    (await gateway.store.subWallets.subWallet({ id: '', walletId, ancestors: [] }, sub)) === undefined
  )
    throw refuse('not_found', 'There is no such sub-wallet, or it is not yours.')
}

/** A key that is to be made, and its value, which is nowhere else. */
const drawn = ({ gateway, session }: Within, walletId: string, wanted: Wanted) => {
  const { label, limits, sub, reference, parent, replaces } = wanted
  const { aliases, canManage } = limits
  const token = newToken()
  const key: NewKey = {
    id: newId('key'),
    hash: gateway.hash(token),
    hashedBy: gateway.hash.id,
    orgId: session.orgId,
    walletId,
    label: storable(label),
    prefix: prefixOf(token),
    limits: limitsOf(limits),
    ...(parent === undefined ? {} : { parentId: parent.id }),
    ...(replaces === undefined ? {} : { replaces: replaces.key.id }),
    ...(sub === undefined ? {} : { subWallet: sub }),
    ...(canManage === undefined ? {} : { canManage }),
    ...(aliases == null ? {} : { aliases }),
  }
  const note: KeyNote = {
    madeBy: session.personId,
    ...(reference === undefined ? {} : { reference: storable(reference) }),
    ...(replaces === undefined ? {} : { tenantId: replaces.tenantId }),
  }
  return { key, note, token }
}

const shownMade = (
  { gateway, session }: Within,
  made: Key,
  { note: { reference, tenantId }, token }: ReturnType<typeof drawn>,
  { spent, spentThisMonth, requests } = nothing,
): KeyMadeShown => {
  const line = {
    key: made,
    spent,
    spentThisMonth,
    requests,
    madeBy: session.email,
    ...(reference === undefined ? {} : { reference }),
    ...(tenantId === undefined ? {} : { tenantId }),
  }
  return { ...shownKey(gateway, line), key: token }
}

/** Makes a key, and records that in the same transaction. */
export const makeKey = async (here: Within, walletId: string, wanted: Wanted): Promise<KeyMadeShown> => {
  const { keys } = here.gateway.store
  await checkWanted(here, walletId, wanted)
  const it = drawn(here, walletId, wanted)
  const made = await keys.createKey(it.key, actorOf(here), it.note)
  // The key whose place it should take was deleted meanwhile.
  if (made.deleted) throw noSuchKey()
  return shownMade(here, made, it, wanted.replaces === undefined ? nothing : await keys.spend(made.id))
}

/** Makes keys for tenants, all or none. */
export const makeTenantKeys = async (
  here: Within,
  walletId: string,
  wanted: readonly Wanted[],
): Promise<readonly KeyMadeShown[] | ReferenceTaken> => {
  const all = wanted.map((one) => drawn(here, walletId, one))
  const made = await here.gateway.store.keys.createKeys(all, actorOf(here))
  if ('reference' in made) return made
  return made.map((key) =>
    shownMade(here, key, must(all.find((one) => one.key.id === key.id) ?? noSuchKey())),
  )
}

/**
 * The key above the organisation's tenants: the oldest that manages others. If there is none it is made, and nobody
 * gets its value.
 */
export const resellerKey = async (here: Within, walletId: string): Promise<Key> => {
  const { store, clock } = here.gateway
  const lines = await store.reports.keys({ orgId: here.session.orgId, which: 'own', most: 1_000 })
  const found = lines
    .map(({ key }) => key)
    .filter(
      ({ canManage, subWallet, disabledReason }) =>
        canManage && subWallet === undefined && disabledReason === undefined,
    )
    .at(-1)
  if (found !== undefined) return found
  const made = await makeKey(here, walletId, { label: 'Tenants', limits: { canManage: true } })
  return must(
    (await store.keys.key(made.id)) ?? refuse('not_found', `The key was deleted at ${clock.now()}.`),
  )
}
