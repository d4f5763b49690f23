/** A key under an id that the caller chose: made if there is none, else given these limits. A repeat changes nothing. */

import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import { amount, line, namedObject } from '../core/body.ts'
import { invalid } from '../core/refusal.ts'
import { storable } from '../core/storable.ts'
import { importedHash } from '../gateway/enter/key-by-token.ts'
import type { Key } from '../tenancy/key.ts'
import { sameLimit } from '../tenancy/limit-values.ts'
import { capList, limitList, type Spent } from '../tenancy/limits.ts'
import { keyLabel, type LimitsBody, limitMembers, saysWhat, toLimits } from '../tenancy/limits-body.ts'
import { type Acting, act } from './act.ts'
import { changedSince, keyChange } from './change-key.ts'
import { usable } from './key-named.ts'
import { showOne } from './keys.ts'
import { makeKey } from './make-key.ts'
import { etag } from './read.ts'
import { readLimits } from './read-limits.ts'
import { keyShape } from './shown-key.ts'

/** Whether the key has all that already. */
const has = (
  key: Key,
  label: string,
  { canManage, disabled, aliases, tags, guardrails, ...limits }: LimitsBody,
): boolean =>
  key.label === label &&
  limitList.every(([name]) => sameLimit(limits[name] ?? undefined, key.limits[name])) &&
  isDeepStrictEqual(aliases ?? undefined, key.aliases) &&
  isDeepStrictEqual(tags ?? undefined, key.tags) &&
  isDeepStrictEqual(guardrails ?? undefined, key.guardrails) &&
  (canManage ?? key.canManage) === key.canManage &&
  (disabled ?? key.disabledReason !== undefined) === (key.disabledReason !== undefined)

/** Throws the refusal of a value that a key has already. */
const checkNew = async ({ control }: Acting, id: string, sha256: string): Promise<void> => {
  const other = await control.store.keys.keyByHash(importedHash(sha256))
  // Somebody else may have made this one at the same moment.
  if (other !== undefined && other.id !== id)
    throw invalid('value_sha256', "'value_sha256' is that of another key; every key has a value of its own.")
}

/** What each cap counts of it, by its member. */
const spentBefore = Object.fromEntries(
  capList.map(({ cap }) => [
    cap.shown,
    amount('must be a number of USD from 0 to 1000000000').optional().describe(cap.since),
  ]),
)

const ID = /^key_[\w-]{1,60}$/

export const keyPut = act({
  name: 'key.put',
  summary:
    'Makes the key of this id, or gives it these limits: all of them, so that what is left out binds no more. Its value is shown when it is made, unless its callers have one already.',
  changes: ['keys'],
  input: {
    key: z
      .string()
      .regex(ID, 'must begin with key_, and have at most 60 letters, digits, _ and - after that'),
    label: keyLabel,
    wallet: z.string('must be the id of a wallet').optional(),
    parent: z.string('must be the id of a key').optional(),
    sub_wallet: z.string('must be the id of a sub-wallet').optional(),
    if_version: etag,
    value_sha256: z
      .string()
      .regex(/^[0-9a-f]{64}$/, 'must be 64 hexadecimal digits in lower case')
      .optional()
      .describe(
        'The SHA-256 of a value that its callers have already, if the key is made now; none is shown then',
      ),
    value_prefix: line(1, 10, 'must have 1 to 10 characters')
      .optional()
      .describe('How lists show such a value'),
    spent_before: z
      .strictObject(spentBefore)
      .transform(
        (amounts) =>
          Object.fromEntries(
            capList.map(({ cap: { shown, spent } }) => [spent, amounts[shown] ?? 0n]),
          ) as Spent,
      )
      .optional()
      .describe(
        'What another gateway charged such a value, if the key is made now; its caps count it, and no report or bill does',
      ),
    ...limitMembers,
  },
  check: saysWhat,
  strangers: toLimits,
  shows: namedObject('KeyPut', {
    ...keyShape,
    key: z.string().nullable().describe('Its value if it was made now, else null'),
  }),
  does: async (acting, { key: id, ...wanted }) => {
    const { label, wallet, parent, sub_wallet: sub, if_version: version, ...more } = wanted
    const { value_sha256: sha256, value_prefix: prefix = 'sk-…', spent_before: brought, ...rest } = more
    const known = await acting.control.store.keys.key(id)
    if (known === undefined) {
      if (version !== undefined) throw changedSince()
      const { disabled, ...limits } = readLimits(acting.control, rest)
      if (disabled === true)
        throw invalid('disabled', "'disabled' is for keys that there are; make the key, then disable it.")
      const valued = sha256 === undefined ? undefined : { sha256, prefix }
      if (valued !== undefined) await checkNew(acting, id, valued.sha256)
      const made = await makeKey(acting, { id, label, limits, sub, wallet, parent, known: valued, brought })
      // Somebody else may have made it at the same moment: then it is given these limits.
      if (made.key.found !== true)
        return { ...(await showOne(acting, id)), key: valued === undefined ? made.token : null }
    }
    const { key } = await usable(acting, id)
    const misplaced =
      wallet !== undefined && wallet !== key.walletId
        ? 'wallet'
        : parent !== undefined && parent !== key.ancestors[0]
          ? 'parent'
          : sub !== undefined && sub !== key.subWallet
            ? 'sub_wallet'
            : undefined
    if (misplaced !== undefined)
      throw invalid(misplaced, `'${misplaced}' of a key cannot be changed here; '${id}' has another one.`)
    const all = Object.fromEntries(
      limitList.map(([, { member }]) => [
        member,
        (rest as Readonly<Record<string, unknown>>)[member] ?? null,
      ]),
    )
    const body = { aliases: null, tags: null, guardrails: null, ...all, ...rest }
    if (has(key, storable(label), readLimits(acting.control, body))) acting.unchanged?.()
    else await keyChange.does(acting, { key: id, label, if_version: version, ...body })
    return { ...(await showOne(acting, id)), key: null }
  },
})
