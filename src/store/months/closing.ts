/** How far the rest has come on its way to becoming a part; close-rest.ts describes the way. */
import type { Instant } from '../../core/time.ts'
import type { Run } from '../engine/engine.ts'
import { textOf } from '../engine/row.ts'
import { partsIn, REST, type Span, spanTo } from './parts.ts'

const CONSTRAINT = 'usage_detail_until_'

export type Closing = {
  /** The name of the constraint on the part's ids. */
  readonly constraint: string
  readonly end: Instant
  /** Whether all rows of the rest satisfy it. */
  readonly proved: boolean
}

/** The name of the constraint contains the end of the part. */
export const constraintOf = (end: Instant): string => `${CONSTRAINT}${end}`

/** Undefined if the rest is to stay as it is. */
export const closingIn = async (run: Run): Promise<Closing | undefined> => {
  const [row] = await run(
    `select c.conname as name, case when c.convalidated then 'yes' else 'no' end as proved from pg_constraint c
     where c.conrelid = to_regclass('${REST}') and starts_with(c.conname, '${CONSTRAINT}')`,
  )
  if (row === undefined) return undefined
  const constraint = textOf(row, 'name')
  return {
    constraint,
    end: Number(constraint.slice(CONSTRAINT.length)),
    proved: textOf(row, 'proved') === 'yes',
  }
}

/** The ids of the part: from the end of the previous one on. */
export const closingSpan = async (run: Run, { end }: Closing): Promise<Span> =>
  spanTo((await partsIn(run)).months.at(-1)?.to, end)
