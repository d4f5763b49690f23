/** Keys made in the console: their values are random, shown once and never stored. */
import { must, type Refusal, refuse } from '../core/refusal.ts'
import { checkAliases } from '../gateway/aliases.ts'
import { newId, newToken, prefixOf } from '../gateway/new-token.ts'
import type { NewKey } from '../store/accounts/tenancy-port.ts'
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

/** Makes a key, and records that in the same transaction. */
export const makeKey = async (here: Within, walletId: string, wanted: Wanted): Promise<KeyMadeShown> => {
  const { gateway, session } = here
  const { label, limits, sub, reference, parent, replaces } = wanted
  await checkWanted(here, walletId, wanted)
  const token = newToken()
  const { aliases, canManage } = limits
  const made = await gateway.store.keys.createKey(
    {
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
    },
    actorOf(here),
    {
      madeBy: session.personId,
      ...(reference === undefined ? {} : { reference: storable(reference) }),
      ...(replaces === undefined ? {} : { tenantId: replaces.tenantId }),
    },
  )
  // The key whose place it should take was deleted meanwhile.
  if (made.deleted) throw noSuchKey()
  const spent = replaces === undefined ? nothing : await gateway.store.keys.spend(made.id)
  const line = {
    key: made,
    spent: spent.spent,
    spentThisMonth: spent.spentThisMonth,
    requests: spent.requests,
    madeBy: session.email,
    ...(reference === undefined ? {} : { reference }),
    ...(replaces === undefined ? {} : { tenantId: replaces.tenantId }),
  }
  return { ...shownKey(gateway, line), key: token }
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
