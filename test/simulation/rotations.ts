/**
 * Keys that get new values while calls, changes and deaths go on. Their callers use the old values and the new ones in
 * turn, and all of them together may do what one could.
 */

import { monthOf } from '../../src/core/time.ts'
import type { Store } from '../../src/store/port.ts'
import { isRevoked, type Key } from '../../src/tenancy/key.ts'
import { byTest } from '../by-test.ts'
import type { Stage } from './stage.ts'
import { EPOCH } from './world.ts'

type Value = { readonly id: string; readonly hash: string }

/** A call that was charged exactly. */
type Charged = {
  readonly cost: bigint
  readonly keyId: string
  /** Whether it was admitted in the new month. */
  readonly newMonth: boolean
  /** When it ended, after the start of the history. */
  readonly endedMs: number
}

type RotationParts = Stage & {
  readonly store: () => Store
  /** Whether callers still come. */
  readonly isLoading: () => boolean
  /** When the revocation of a value was acknowledged; infinite while that is not known. */
  readonly revokedAt: Map<string, number>
}

/** The share of histories with rotations: each makes the lines of keys longer, and loans dearer. */
const SHARE = 0.3
const LATEST_MS = 9_000

export const createRotations = ({ world, hit, fail, guard, store, isLoading, revokedAt }: RotationParts) => {
  const { after } = world
  const { random, pick } = world.draws('rotations')
  const asking = world.draws('values of keys')
  const keys: Key[] = []
  /** The values of each key, oldest first. */
  const values: Value[][] = []

  /** A value of the key, as one of its callers has it. */
  const oneOf = (index: number): Value => {
    const all = values[index] ?? []
    return all[asking.pick(0, all.length - 1)] ?? { id: '', hash: '' }
  }

  /** No process has ever known a value as enabled that was made disabled. */
  const watch = (made: Key): void => {
    hit('disabled key rotated')
    revokedAt.set(made.id, world.now())
    after(pick(200, 3_000), () => {
      revokedAt.delete(made.id)
      guard(store().keys.changeKey(made.id, { disabledReason: null, byCreator: true }, byTest))
    })
  }

  const rotate = async (index: number): Promise<void> => {
    const [all, old] = [values[index] ?? [], oneOf(index)]
    const revoked = revokedAt.get(old.id)
    const key = await store().keys.key(old.id)
    if (key === undefined) return fail('a key vanished')
    const { ancestors, subWallet, walletId, orgId, label, prefix, limits } = key
    const id = `k${index}.${all.length}`
    const made = await store().keys.createKey(
      {
        id,
        hash: `hash of ${id}`,
        ...{ walletId, orgId, label, prefix, limits },
        replaces: old.id,
        ...(ancestors[0] === undefined ? {} : { parentId: ancestors[0] }),
        ...(subWallet === undefined ? {} : { subWallet }),
      },
      byTest,
    )
    all.push({ id, hash: `hash of ${id}` })
    hit('key rotated')
    const wasOff = revoked !== undefined && revoked <= world.now() && revokedAt.get(old.id) === revoked
    if (wasOff && !isRevoked(made)) fail('a rotation enabled a disabled key')
    if (isRevoked(made)) watch(made)
  }

  /** What all values of a key spent counts for the newest, and stays within a cap that nobody changes. */
  const check = async (charged: readonly Charged[]): Promise<void> => {
    for (const [index, all] of values.entries()) {
      if (all.length === 1) continue
      const ids = new Set(all.map(({ id }) => id))
      const own = charged.filter(({ keyId }) => ids.has(keyId))
      const sum = (calls: readonly Charged[]) => calls.reduce((total, { cost }) => total + cost, 0n)
      const newest = await store().keys.spend(all.at(-1)?.id ?? '')
      if (newest.spent < sum(own)) fail('a rotated key forgot what was spent')
      const { monthlyCap, dailyCap, weeklyCap } = keys[index]?.limits ?? {}
      // The second month begins with the second day, in the same week. A hold that grows at its turn may move to the new one.
      const months = [
        own.filter(({ endedMs }) => monthOf(EPOCH + endedMs) === monthOf(EPOCH)),
        own.filter(({ newMonth }) => newMonth),
      ]
      for (const cap of [monthlyCap, dailyCap])
        for (const calls of months)
          if (cap !== undefined && sum(calls) > cap) fail('all values of a key spent more than its cap')
      if (weeklyCap !== undefined && sum(own) > weeklyCap) fail('all values of a key spent more in a week')
    }
  }

  return {
    start: (all: readonly Key[]): void => {
      keys.push(...all)
      values.push(...all.map(({ id }, index) => [{ id, hash: `h${index}` }]))
      if (random() >= SHARE) return
      for (let times = pick(1, 3); times > 0; times--) {
        const index = pick(0, all.length - 1)
        after(pick(500, LATEST_MS), () => isLoading() && guard(rotate(index)))
      }
    },
    oneOf,
    newestOf: (index: number): string => values[index]?.at(-1)?.id ?? '',
    /** The first value of the key. */
    firstOf: ({ id }: Key): string => id.split('.')[0] ?? id,
    check,
  }
}
