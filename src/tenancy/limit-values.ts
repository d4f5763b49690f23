/** Values of limits: compared with each other, and as people read them. */
import { isWithin, readBlock } from '../core/address.ts'
import { decimalFromNano } from '../core/money.ts'
import type { LimitRow, LimitValue, ValueOf } from './limits.ts'
import { coversPattern } from './pattern.ts'
import { type Told, tellsNothing, told } from './terms.ts'

type Compared = Pick<LimitRow, 'narrower' | 'of'>

/** Whether a limit that somebody asks for lets through more than a bound. */
export const isWider = ({ narrower, of }: Compared, asked: LimitValue, bound: LimitValue): boolean => {
  if (typeof asked !== 'object' || typeof bound !== 'object')
    return narrower === 'most' ? asked > bound : asked < bound
  // More conditions let through less.
  if (of === 'conditions') return !bound.every((one) => asked.includes(one))
  const covers = of === 'models' ? coversPattern : coversAddresses
  return !asked.every((one) => bound.some((wide) => covers(wide, one)))
}

const coversAddresses = (wide: string, narrow: string): boolean => {
  const [outer, inner] = [readBlock(wide), readBlock(narrow)]
  return (
    outer !== undefined && inner !== undefined && inner.bits >= outer.bits && isWithin(inner.address, outer)
  )
}

/** Whether two limits are the same; an absent one is undefined. */
export const sameLimit = (one: LimitValue | undefined, other: LimitValue | undefined): boolean =>
  typeof one === 'object' ? JSON.stringify(one) === JSON.stringify(other) : one === other

const texts: { readonly [Form in LimitRow['form']]: (value: ValueOf[Form]) => string } = {
  usd: decimalFromNano,
  count: String,
  time: (at) => new Date(at).toISOString(),
  list: (all) => all.join(', '),
}

/** A limit as people read it: amounts as decimals of USD, a tenant's as it is told them; times in ISO 8601. */
export const limitText = ({ form }: Pick<LimitRow, 'form'>, value: LimitValue, terms?: Told): string => {
  if (form !== 'usd' || typeof value !== 'bigint') return texts[form](value as never)
  return tellsNothing(terms) ? 'an amount that is not shown' : texts.usd(told(value, terms))
}
