/** What acts read of limits, with what only the catalogue knows. */
import { must } from '../core/refusal.ts'
import { limitList, limitsFrom } from '../tenancy/limits.ts'
import { type LimitsBody, limitsOfBody } from '../tenancy/limits-body.ts'
import { modelIds } from '../tenancy/model-patterns.ts'
import type { Control } from './act.ts'

/** The limits of a body; short names of models become their ids. Throws the refusal of one that is not sold. */
export const readLimits = (
  { offering }: Pick<Control, 'offering'>,
  body: Parameters<typeof limitsOfBody>[0],
): LimitsBody => {
  const limits = limitsOfBody(body)
  const named = limitList.filter(([name, row]) => row.of === 'models' && limits[name] != null)
  if (named.length === 0) return limits
  const ids = limitsFrom((name, { member, of }) => {
    const value = limits[name]
    return of === 'models' && Array.isArray(value) ? must(modelIds(member, value, offering.catalogue)) : value
  })
  return { ...limits, ...ids }
}
