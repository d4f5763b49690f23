/** Whose calls an act reads: those in reach, of one key, of one tenant, or of all tenants. */
import { z } from 'zod'
import { invalid } from '../../core/refusal.ts'
import type { Scope } from '../../store/reports/call-port.ts'
import { type TagFilter, tagFilterOf } from '../../tenancy/tags.ts'
import type { Acting } from '../act.ts'
import { keyNamed, keyScope } from '../key-named.ts'
import { flag, name } from '../read.ts'

export const scopeMembers = {
  own: flag().describe('Only calls of the key itself, without those of keys below it'),
  key: name
    .optional()
    .describe('Only calls of this key and all below it; of a key that asks, itself if absent'),
  tenant: name.optional(),
  tenants: flag().describe('Only calls of keys below others'),
  organisation: name.optional(),
  team: name.optional().describe('Only calls of keys that are bound to this team now'),
}

/** A tag, or one of its values, that a report is about. */
export const tagNamed = z
  .string()
  .transform((text, context): TagFilter => {
    const read = tagFilterOf(text)
    if (read !== undefined) return read
    context.issues.push({ code: 'custom', message: 'must be like team=red, or team', input: text })
    return z.NEVER
  })
  .optional()

type Asked = {
  readonly own?: boolean | undefined
  readonly key?: string | undefined
  readonly tenant?: string | undefined
  readonly tenants?: boolean | undefined
  readonly organisation?: string | undefined
  readonly team?: string | undefined
}

/** Throws the refusal of a key that is not in reach. */
export const scopeOf = async (acting: Acting, asked: Asked): Promise<Scope> => {
  const { own = false, key: named, tenant, tenants = false, organisation, team } = asked
  const { reach } = acting.who
  const { below: _self, ...scope } = keyScope(acting, 'read', organisation)
  const self = reach.of === 'key' ? reach.key.id : undefined
  const id = named === undefined ? self : (await keyNamed(acting, named, 'read')).key.id
  if (own && id === undefined) throw invalid('own', "'own' needs 'key'.")
  return {
    ...scope,
    ...(team === undefined ? {} : { team }),
    ...(id === undefined ? {} : own ? { keyId: id } : { tree: id }),
    ...(tenant === undefined ? {} : { tenant }),
    ...(tenants ? { tenants: true } : {}),
  }
}
