/** What is recorded about a change of a key: who made it, and what it changed. */
import { decimalFromNano } from '../../core/money.ts'
import type { Key } from '../../tenancy/key.ts'
import { limitText } from '../../tenancy/limit-values.ts'
import { capList, limitList, type Spent } from '../../tenancy/limits.ts'
import type { Actor, NewEvent } from '../people/event-port.ts'
import type { KeyChanged } from './tenancy-port.ts'

type KeyView = Readonly<Record<string, string | number | boolean>>

/** Amounts as decimal texts of USD; absent limits are left out. */
const shown = ({ label, limits, disabledReason, canManage, subWallet, deleted, endedLogins }: Key): KeyView =>
  Object.fromEntries(
    Object.entries({
      label,
      ...Object.fromEntries(
        limitList.map(([name, row]) => {
          const value = limits[name]
          return [
            name,
            value === undefined || (typeof value === 'number' && row.form === 'count')
              ? value
              : limitText(row, value),
          ]
        }),
      ),
      disabled: disabledReason ?? false,
      canManage,
      subWallet,
      deleted,
      signedOut: endedLogins?.at(-1),
    }).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  )

/** The members of `one` that differ in `other` or are missing there. */
const differing = (one: KeyView, other: KeyView): KeyView =>
  Object.fromEntries(Object.entries(one).filter(([name, value]) => other[name] !== value))

export const keyCreated = (key: Key, actor: Actor, brought?: Spent): NewEvent => ({
  actor,
  orgId: key.orgId,
  what: 'key.created',
  subject: key.id,
  after: Object.fromEntries([
    ...Object.entries(shown(key)).filter(([, value]) => value !== false),
    ...capList.flatMap(({ cap: { spent } }) =>
      brought === undefined || brought[spent] === 0n ? [] : [[spent, decimalFromNano(brought[spent])]],
    ),
  ]),
})

export const keyChanged = (
  before: Key,
  { key, below }: Pick<KeyChanged, 'key' | 'below'>,
  actor: Actor,
): NewEvent => {
  const [old, now] = [shown(before), shown(key)]
  const what = key.deleted
    ? 'deleted'
    : old.disabled === now.disabled
      ? 'changed'
      : now.disabled === false
        ? 'enabled'
        : 'disabled'
  return {
    actor,
    orgId: key.orgId,
    what: `key.${what}`,
    subject: key.id,
    before: { label: before.label, ...differing(old, now) },
    after: {
      label: key.label,
      ...differing(now, old),
      ...(below.length === 0 ? {} : { below: below.length }),
    },
  }
}
