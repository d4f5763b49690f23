/** Members of inputs that faces may give as JSON or as text: amounts, counts, flags, instants. */
import { z } from 'zod'
import { text } from '../core/body.ts'
import { storable } from '../core/storable.ts'
import { instantFrom } from '../core/time.ts'

/** A count from a body, a query or an option. */
export const count = (least: number, most: number) => {
  const what = `must be a whole number from ${least} to ${most}`
  return z
    .union([z.int(), z.string().regex(/^\d{1,9}$/)], what)
    .transform(Number)
    .refine((value) => value >= least && value <= most, what)
    .optional()
}

/** `true` or `false`, or their words; absent is undefined. */
export const flag = (what = 'must be true or false') =>
  z
    .union([z.boolean(), z.enum(['true', 'false'])], what)
    .transform((value) => value === true || value === 'true')
    .optional()

/** The version that somebody read, as an ETag or a number. Source: RFC 9110, section 8.8.3. */
export const etag = z
  .union([z.int(), z.string().regex(/^"?\d{1,15}"?$/)], 'must be the ETag of an answer')
  .transform((value) => Number(String(value).replaceAll('"', '')))
  .optional()

/** A day or a moment, as milliseconds since 1970; `more` is said of one that cannot be read. */
export const instant = (more = '') =>
  z
    .string()
    .transform((value, context) => {
      const at = instantFrom(value)
      if (at !== undefined) return at
      context.issues.push({
        code: 'custom',
        message: `must be a day such as 2026-11-21 that there is, or a moment in ISO 8601${more}`,
        input: value,
      })
      return z.NEVER
    })
    .optional()

const monthForm = 'must be a month such as 2026-11'
/** A month that has to be given. */
export const statedMonth = z.string(monthForm).regex(/^\d{4}-(0[1-9]|1[0-2])$/, monthForm)
export const month = statedMonth.optional()

/** What names a thing: its id, or where a face allows it another name. */
export const name = text(1, 200, 'must be an id').overwrite(storable)

/** An e-mail address of somebody. */
export const email = z.email('must be an e-mail address').max(254, 'must be an e-mail address')

export const isoOf = (at: number): string => new Date(at).toISOString()
