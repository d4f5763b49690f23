/** Makes keys: their values are random, or derived from an Idempotency-Key, shown once and never stored. */

import { inCell } from '../cells/cell-of.ts'
import type { KeyedHash } from '../core/keyed-hash.ts'
import { invalid, must, type Refusal, refuse } from '../core/refusal.ts'
import { storable } from '../core/storable.ts'
import { newIdOf } from '../core/time.ts'
import { checkAliases } from '../gateway/enter/aliases.ts'
import { importedHash } from '../gateway/enter/key-by-token.ts'
import { readIdempotencyKey } from '../gateway/enter/once-only.ts'
import { newToken, prefixOf } from '../gateway/parts/new-token.ts'
import type { KeyMade, KeyNote, NewKey, ReferenceTaken } from '../store/accounts/tenancy-port.ts'
import type { Key } from '../tenancy/key.ts'
import { limitsAfter, type Spent } from '../tenancy/limits.ts'
import type { LimitsBody } from '../tenancy/limits-body.ts'
import { checkWithin } from '../tenancy/rights.ts'
import { termsOf } from '../tenancy/terms.ts'
import type { Acting } from './act.ts'
import { noSuchKey, usable } from './key-named.ts'
import { onlyOrg } from './org-of.ts'
import { checkTeam } from './own-team.ts'
import type { KeyShown } from './shown-key.ts'
import { may, reaches } from './who.ts'

/** A value that its caller has already: its SHA-256 in hex, and its first letters if somebody knows them. */
type KnownValue = { readonly sha256: string; readonly prefix: string }

type Wanted = {
  readonly label: string
  readonly limits: LimitsBody
  readonly sub?: string | undefined
  readonly wallet?: string | undefined
  /** The id of the key above it. */
  readonly parent?: string | undefined
  readonly reference?: string | undefined
  /** The id that the caller chose. */
  readonly id?: string | undefined
  /** The Idempotency-Key of the attempt, if there is one. */
  readonly attempt?: string | undefined
  /** What is known of a value that was made elsewhere. */
  readonly known?: KnownValue | undefined
  /** What it spent elsewhere. */
  readonly brought?: Spent | undefined
  /** The key whose place it takes, and the tenant of that one. */
  readonly replaces?: { readonly key: Key; readonly tenantId: string }
}

type Made = { readonly key: KeyMade; readonly token: string }

export const madeShown = (key: KeyShown, token: string) => ({ ...key, key: token })

type Payer = { readonly walletId: string; readonly orgId: string }

const noSuchWallet = () => refuse('not_found', 'There is no such wallet, or it is not yours.')

/**
 * What is to be made, with its team: who may not change all keys of the organisation makes keys of their teams
 * alone, of the first one unless they say which. Throws the 404 of a team that they are not in.
 */
const inTeam = async (acting: Acting, wanted: Wanted): Promise<Wanted> => {
  const { sub, wallet, parent, replaces } = wanted
  const { who } = acting
  if (replaces !== undefined || who.teams === undefined || may(who, 'keys')) return wanted
  const wrong = sub === undefined ? undefined : await checkTeam(acting, sub)
  if (wrong !== undefined) throw wrong
  const team = who.teams.find(({ id }) => sub === undefined || id === sub)
  if (team === undefined) return wanted
  return { ...wanted, sub: team.id, ...(parent === undefined ? { wallet: wallet ?? team.walletId } : {}) }
}

/** The wallet that pays, and its organisation: that of the key above, the one that is named, or the only one in reach. */
const payerOf = async (
  acting: Acting,
  { wallet, replaces }: Wanted,
  parent: Key | undefined,
): Promise<Payer> => {
  const { store } = acting.control
  const above = parent ?? replaces?.key
  if (above !== undefined) {
    if (wallet !== undefined && wallet !== above.walletId) throw noSuchWallet()
    return above
  }
  const orgId = onlyOrg(acting)
  if (orgId !== undefined) {
    const wallets = await store.reports.walletsOf(orgId)
    if (wallet !== undefined && !wallets.includes(wallet)) throw noSuchWallet()
    const walletId = must(wallet ?? wallets[0] ?? refuse('not_found', 'The organisation has no wallet.'))
    return { orgId, walletId }
  }
  if (wallet === undefined) throw invalid('wallet', "'wallet' is required: the id of one in reach.")
  const found = await store.wallets.wallet(wallet)
  if (found === undefined || !reaches(acting.who, found.orgId)) throw noSuchWallet()
  return { orgId: found.orgId, walletId: found.id }
}

/** Why these limits may not be given below that key. */
export const wrongLimits = ({ control }: Acting, limits: LimitsBody, parent?: Key): Refusal | undefined =>
  (parent === undefined ? undefined : checkWithin(parent, limits, control.options.planRpm)) ??
  checkAliases(control.offering.catalogue, limits.aliases)

/** The key above the new one: for a key, itself or one below it. */
const parentOf = async (acting: Acting, { parent, replaces }: Wanted): Promise<Key | undefined> => {
  const { reach } = acting.who
  const { keys } = acting.control.store
  const maker = replaces?.key.ancestors[0]
  if (replaces !== undefined) return maker === undefined ? undefined : await keys.key(maker)
  if (parent !== undefined)
    return { ...(await usable(acting, parent)).key, ...(reach.of === 'key' ? termsOf(reach.key) : {}) }
  return reach.of === 'key' ? reach.key : undefined
}

const checkSub = async (acting: Acting, walletId: string, { sub, replaces }: Wanted): Promise<void> => {
  if (sub === undefined || replaces !== undefined) return
  const { reach } = acting.who
  const { subWallets } = acting.control.store
  const found =
    reach.of === 'key'
      ? await subWallets.serving(reach.key, sub)
      : await subWallets.subWallet({ walletId }, sub)
  if (found === undefined) throw refuse('not_found', 'There is no such sub-wallet, or it is not yours.')
}

/**
 * With an Idempotency-Key the value is derived from that under the server's secret, so that a repeat gets the same one,
 * also under the previous secret.
 */
const identityOf = async (
  { control, who }: Acting,
  { attempt, id = newIdOf('key'), known }: Pick<Wanted, 'attempt' | 'id' | 'known'>,
) => {
  const { hash, options, store } = control
  const cell = inCell(options.cell.own)
  if (known !== undefined) return { token: '', id, hash: importedHash(known.sha256), prefix: known.prefix }
  if (attempt === undefined) {
    const token = newToken(options.cell.own)
    return { token, id, hash: hash(token), hashedBy: hash.id, prefix: prefixOf(token) }
  }
  const name = must(readIdempotencyKey(attempt))
  const maker = who.reach.of === 'key' ? who.actor.id : `${who.actor.kind} ${who.actor.id}`
  const under = (secret: KeyedHash) => {
    const token = `sk-${cell}${secret(`child key of ${maker} attempt ${name}`)}`
    const id = `key_${secret(`id of ${token}`).slice(0, 32)}`
    return { token, id, hash: hash(token), hashedBy: hash.id, prefix: prefixOf(token) }
  }
  const before = hash.before === undefined ? undefined : under(hash.before)
  return before !== undefined && (await store.keys.key(before.id)) !== undefined ? before : under(hash)
}

/** A key that is to be made, and its value, which is nowhere else. */
const drawn = async (
  acting: Acting,
  payer: Payer,
  wanted: Wanted,
  parent: { readonly id: string } | undefined,
) => {
  const { label, limits, sub, reference, replaces, brought } = wanted
  const { aliases, tags, guardrails, canManage } = limits
  const { token, ...identity } = await identityOf(acting, wanted)
  const { actor } = acting.who
  const key: NewKey = {
    ...identity,
    orgId: payer.orgId,
    walletId: payer.walletId,
    label: storable(label),
    limits: limitsAfter({}, limits),
    ...(parent === undefined ? {} : { parentId: parent.id }),
    ...(replaces === undefined ? {} : { replaces: replaces.key.id }),
    ...(sub === undefined ? {} : { subWallet: sub }),
    ...(canManage === undefined ? {} : { canManage }),
    ...(aliases == null ? {} : { aliases }),
    ...(brought === undefined ? {} : { brought }),
    ...(tags == null ? {} : { tags }),
    ...(guardrails == null ? {} : { guardrails }),
  }
  const note: KeyNote = {
    ...(actor.kind === 'person' || actor.kind === 'machine' ? { madeBy: actor.id } : {}),
    ...(reference === undefined ? {} : { reference: storable(reference) }),
    ...(replaces === undefined ? {} : { tenantId: replaces.tenantId }),
  }
  return { key, note, token }
}

const reused = (what: string) => refuse('idempotency_key_reused', `The Idempotency-Key made a key ${what}`)

/** A key makes others only while it may, which is tested once more when it does. */
const store = async (acting: Acting, { key, note }: Awaited<ReturnType<typeof drawn>>): Promise<KeyMade> => {
  const { keys } = acting.control.store
  const { reach, actor } = acting.who
  if (reach.of !== 'key' || key.parentId === undefined) return keys.createKey(key, actor, note)
  const made = await keys.createChild({ ...key, parentId: key.parentId }, actor)
  return must(made ?? refuse('forbidden', 'The key may not make keys any more, or was disabled.'))
}

/**
 * Makes a key, and records that in the same transaction. One that is there already stays as it is: the attempt before
 * made it, so that its value is the same, or somebody else did under this id, so that the value is worth nothing. Throws
 * the refusal of what is wrong.
 */
export const makeKey = async (acting: Acting, asked: Wanted): Promise<Made> => {
  const { who } = acting
  if (who.reach.of === 'key') {
    must(who.lacks(['keys']))
  }
  const wanted = await inTeam(acting, asked)
  const parent = await parentOf(acting, wanted)
  // A value that is to be replaced may have leaked, so nothing is in the way of that: what was given stays as it is.
  const wrong = wanted.replaces === undefined ? wrongLimits(acting, wanted.limits, parent) : undefined
  if (wrong !== undefined) throw wrong
  const payer = await payerOf(acting, wanted, parent)
  await checkSub(acting, payer.walletId, wanted)
  const it = await drawn(acting, payer, wanted, parent)
  const key = await store(acting, it)
  if (key.found === true && wanted.id !== undefined) return { key, token: it.token }
  if (key.found === true) acting.unchanged?.()
  // With a rotation, the key whose place it should take was deleted meanwhile.
  if (key.deleted)
    throw wanted.attempt === undefined
      ? noSuchKey(acting)
      : reused('that was deleted since; use another one.')
  if (key.label !== it.key.label) throw reused('with another label before.')
  return { key, token: it.token }
}

/**
 * Makes keys for tenants below one key, all or none. Without one it is made too, in the same transaction, and nobody gets
 * its value.
 */
export const makeTenantKeys = async (
  acting: Acting,
  payer: Payer,
  parent: Key | undefined,
  wanted: readonly Wanted[],
): Promise<readonly Made[] | ReferenceTaken> => {
  const above =
    parent === undefined
      ? [await drawn(acting, payer, { label: 'Tenants', limits: { canManage: true } }, undefined)]
      : []
  const tenants = await Promise.all(wanted.map((one) => drawn(acting, payer, one, parent ?? above[0]?.key)))
  const made = await acting.control.store.keys.createKeys([...above, ...tenants], acting.who.actor)
  if ('reference' in made) return made
  return tenants.map(({ key: { id }, token }) => ({
    key: must(made.find((key) => key.id === id) ?? noSuchKey(acting)),
    token,
  }))
}
