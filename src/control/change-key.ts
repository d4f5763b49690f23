/** Acts that change a key: its limits and state, its place by rotation, its end. */

import { z } from 'zod'
import { checkEnabled } from '../admission/caller.ts'
import { namedObject } from '../core/body.ts'
import { type Refusal, refuse } from '../core/refusal.ts'
import { storable } from '../core/storable.ts'
import { monthOf } from '../core/time.ts'
import { checkAliases } from '../gateway/enter/aliases.ts'
import { checkBinding } from '../gateway/parts/bind-key.ts'
import type { KeyChange } from '../store/accounts/tenancy-port.ts'
import { ChangedSince } from '../store/faults.ts'
import { checkSelfChange } from '../tenancy/change-limits.ts'
import { isBlocked, type Key } from '../tenancy/key.ts'
import { changeMembers, keyLabel, type LimitsBody, saysWhat, toLimits } from '../tenancy/limits-body.ts'
import { checkManages, checkWithin } from '../tenancy/rights.ts'
import { termsOf } from '../tenancy/terms.ts'
import { type Acting, act } from './act.ts'
import { noSuchKey, usable } from './key-named.ts'
import { keyCreate, showOne } from './keys.ts'
import { madeShown, makeKey } from './make-key.ts'
import { checkTeam } from './own-team.ts'
import { etag, flag, name } from './read.ts'
import { readLimits } from './read-limits.ts'
import { keyShape } from './shown-key.ts'
import { may } from './who.ts'

/** Whose act a block is, for whoever calls with the key: that of the house, or of the account that the key is from. */
const blockReason = ({ who: { reach, actor } }: Acting, { ancestors }: Key): 'operator' | 'reseller' =>
  ancestors.length === 0 || reach.of === 'house' || actor.operator === true ? 'operator' : 'reseller'

/**
 * How a key is disabled or enabled. Who is limited to their own keys does it under a name of theirs, and so enables no key
 * that somebody else has disabled.
 */
const blockOf = (acting: Acting, key: Key, off: boolean): Pick<KeyChange, 'disabledReason' | 'together'> => {
  const { who } = acting
  if (who.reach.of === 'key' && who.reach.key.id === key.id) return { disabledReason: off ? 'self' : null }
  const others = blockReason(acting, key)
  if (may(who, 'keys')) return { disabledReason: off ? others : null }
  const together = `maker ${who.actor.id}`
  if (off) return { disabledReason: others, together }
  if (!isBlocked(key)) return { disabledReason: null }
  if (key.disabledBy === together) return { disabledReason: null, together }
  throw refuse('forbidden', 'Somebody else disabled this key; an owner or admin can enable it.')
}

/** What a key may change of itself, and of the keys below it; others change what they reach. */
const checkKeyChange = (
  { control, who: { reach } }: Acting,
  target: Key,
  body: LimitsBody,
): Refusal | undefined => {
  if (reach.of !== 'key') return undefined
  const caller = reach.key
  const { planRpm } = control.options
  const governs = () => checkEnabled(caller, monthOf(control.clock.now())) ?? checkManages(caller)
  if (target.id !== caller.id) return governs() ?? checkWithin(caller, body, planRpm)
  const wrong = checkSelfChange({ ...target, ...termsOf(caller) }, body, planRpm)
  if (wrong !== undefined || body.withChildren !== true) return wrong
  // A key that disabled itself together with its children may also undo that.
  return target.disabledReason === 'self' ? checkManages(target) : governs()
}

export const changedSince = (): Refusal =>
  refuse('precondition_failed', 'The key was changed since you read it; read it again.')

const sinceRead = (fault: unknown): never => {
  throw fault instanceof ChangedSince ? changedSince() : fault
}

const below = z.array(z.string()).describe('The keys below that changed with it')

export const keyChange = act({
  name: 'key.change',
  summary: 'Changes label and limits of a key; answers once they apply on every process.',
  changes: ['keys', 'keys_own'],
  input: { key: name, label: keyLabel.optional(), ...changeMembers, if_version: etag },
  check: saysWhat,
  strangers: toLimits,
  shows: namedObject('KeyChanged', { ...keyShape, below }),
  does: async (acting, { key: named, label, if_version: ifVersion, ...rest }) => {
    const { control, who } = acting
    const { key } = await usable(acting, named)
    const body = readLimits(control, rest)
    const self = who.reach.of === 'key' && who.reach.key.id === key.id
    if (self && label !== undefined)
      throw refuse('forbidden', 'A key cannot change its own label; who made it can.', {
        members: { param: 'label' },
      })
    const wrong =
      checkKeyChange(acting, key, body) ??
      checkAliases(control.offering.catalogue, body.aliases) ??
      (body.subWallet === undefined ? undefined : await checkTeam(acting, body.subWallet)) ??
      (await checkBinding(control.store, {
        key,
        sub: body.subWallet,
        ...(who.reach.of === 'key' ? { by: who.reach.key } : {}),
      }))
    if (wrong !== undefined) throw wrong
    const { disabled, canManage, ...others } = body
    const changed = await control.book
      .changeKey(
        key.id,
        {
          ...others,
          ...(canManage === undefined || !(self || may(who, 'keys')) ? {} : { canManage }),
          ...(label === undefined ? {} : { label: storable(label) }),
          ...(disabled === undefined ? {} : blockOf(acting, key, disabled)),
          ...(ifVersion === undefined ? {} : { ifVersion }),
          byCreator: !self,
        },
        who.actor,
      )
      .catch(sinceRead)
    if (changed === undefined) throw noSuchKey(acting)
    return { ...(await showOne(acting, key.id)), below: changed.below.map(({ id }) => id) }
  },
})

export const keyDelete = act({
  name: 'key.delete',
  summary:
    'Deletes a key, and with `with_children=true` all below it; answers once no process admits a call of theirs. What they used stays in the reports.',
  changes: ['keys', 'keys_own'],
  input: { key: name, with_children: flag() },
  shows: namedObject('KeyDeleted', {
    id: z.string(),
    deleted: z.literal(true),
    with_children: z.boolean(),
    below,
  }),
  does: async (acting, { key: named, with_children: withChildren = false }) => {
    const { control, who } = acting
    if (who.reach.of === 'key') {
      const wrong = who.lacks(['keys'])
      if (wrong !== undefined) throw wrong
    }
    const { key } = await usable(acting, named)
    if (who.reach.of === 'key' && key.id === who.reach.key.id)
      throw refuse(
        'forbidden',
        'A key cannot delete itself; it can disable itself, or a key above it can delete it.',
      )
    const deleted = await control.book.deleteKey(key.id, withChildren, who.actor)
    if (deleted === undefined) throw noSuchKey(acting)
    return {
      id: key.id,
      deleted: true as const,
      with_children: withChildren,
      below: deleted.below.map(({ id }) => id),
    }
  },
})

export const keyRotate = act({
  name: 'key.rotate',
  summary:
    'Makes a new key with the same limits, disabled if the old one is; the old one stays valid until it is deleted.',
  changes: ['keys', 'keys_own'],
  input: { key: name },
  shows: keyCreate.shows,
  does: async (acting, { key: named }) => {
    const { key, reference, tenantId } = await usable(acting, named)
    const made = await makeKey(acting, {
      label: key.label,
      limits: {
        ...key.limits,
        canManage: key.canManage,
        aliases: key.aliases ?? null,
        tags: key.tags ?? null,
        guardrails: key.guardrails ?? null,
      },
      sub: key.subWallet,
      reference,
      replaces: { key, tenantId: tenantId ?? key.id },
    })
    return madeShown(await showOne(acting, made.key.id), made.token)
  },
})
