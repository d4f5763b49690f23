/** The act that reports use: calls, tokens and costs of a span, summed by groups; equal to the ledger. */

import { z } from 'zod'
import { namedObject } from '../../core/body.ts'
import { present } from '../../core/json-body.ts'
import { invalid } from '../../core/refusal.ts'
import { DAY_MS, type Instant, monthOf, nextMonthStart } from '../../core/time.ts'
import {
  type Counted,
  type ReportLine,
  type ReportQuery,
  type UsageGroup,
  usageGroups,
} from '../../store/reports/report-port.ts'
import { type Terms, tellsNothing, termsIn, told } from '../../tenancy/terms.ts'
import { type Acting, act } from '../act.ts'
import { count, instant, isoOf } from '../read.ts'
import { usd } from '../shown-key.ts'
import { scopeMembers, scopeOf, tagNamed } from './scope.ts'

const SPAN_MS = 30 * DAY_MS
/** The statement of a report by month names each of them. */
const MONTHS_MOST_MS = 3_660 * DAY_MS
const ROWS_USUAL = 10_000
export const ROWS_MOST = 1_000_000

const moment = instant(' (in an address, its + is written %2B)')

const groups = z
  .string()
  .default('day,model')
  .transform((text, context): readonly UsageGroup[] => {
    const names = text === '' ? [] : text.split(',')
    const read = usageGroups.filter((group) => names.includes(group))
    if (read.length === names.length) return read
    context.issues.push({
      code: 'custom',
      message: `is a list of ${usageGroups.join(', ')}, each at most once`,
      input: text,
    })
    return z.NEVER
  })

const counted = {
  requests: z.int(),
  input_tokens: z.int(),
  output_tokens: z.int(),
  cached_tokens: z.int().describe('Of the input tokens, those that vendors read from their caches'),
  cache_write_tokens: z
    .int()
    .describe('Of the input tokens, those that vendors wrote to their caches and billed as such'),
  cache_hit_rate: z
    .number()
    .nullable()
    .describe('`cached_tokens` as a share of `input_tokens`, from 0 to 1; null without input'),
  cache_saved_usd: usd.describe(
    'What the input would have cost without caches, less what it cost; negative if writing to them cost more than reading saved',
  ),
  cost_usd: usd,
}

const row = z.object({
  hour: z.string().optional(),
  day: z.string().optional(),
  month: z.string().optional(),
  model: z.string().optional(),
  key: z.string().nullable().optional().describe('null for all keys together that `top` leaves out'),
  label: z.string().optional(),
  parent: z.string().nullable().optional(),
  deleted: z.boolean().optional(),
  reference: z.string().optional().describe('The reseller’s own name of the tenant'),
  vendor: z.string().optional(),
  status: z.string().optional(),
  sub_wallet: z.string().nullable().optional(),
  sub_wallet_label: z.string().nullable().optional(),
  payment_mode: z.string().optional(),
  tag: z.string().nullable().optional().describe('The value of the tag that is asked for'),
  ...counted,
})
type UsageRow = z.output<typeof row>

const RATE_PARTS = 10_000

const shownCounts = (line: Counted) => ({
  requests: line.requests,
  input_tokens: line.inputTokens,
  output_tokens: line.outputTokens,
  cached_tokens: line.cachedTokens,
  cache_write_tokens: line.cacheWriteTokens,
  cache_hit_rate:
    line.inputTokens === 0
      ? null
      : Math.floor((line.cachedTokens * RATE_PARTS) / line.inputTokens) / RATE_PARTS,
  cache_saved_usd: line.cacheSaved,
  cost_usd: line.amount,
})

/** What is known of a key; it is not told what others call it. */
const keyOf = ({ groups: { key = '' }, label, parent, deleted, reference }: ReportLine, byKey: boolean) =>
  key === ''
    ? { key: null, label: 'All other keys' }
    : {
        key,
        label: label ?? '',
        parent: parent ?? null,
        deleted: deleted ?? false,
        ...(byKey || reference === undefined ? {} : { reference }),
      }

const shownRow =
  (byKey: boolean) =>
  (line: ReportLine): UsageRow => {
    const {
      hour,
      day,
      month,
      model,
      key,
      vendor,
      status,
      sub_wallet: sub,
      payment_mode: mode,
      tag,
    } = line.groups
    return {
      ...(hour === undefined ? {} : { hour }),
      ...(day === undefined ? {} : { day: day.slice(0, 10) }),
      ...present({ month, model }),
      ...(key === undefined ? {} : keyOf(line, byKey)),
      ...present({ vendor, status }),
      ...(sub === undefined
        ? {}
        : {
            sub_wallet: sub === '' ? null : sub,
            sub_wallet_label: line.subLabel ?? (sub === '' ? null : ''),
          }),
      ...(mode === undefined ? {} : { payment_mode: mode }),
      ...(tag === undefined ? {} : { tag: tag === '' ? null : tag }),
      ...shownCounts(line),
    }
  }

type Asked = { readonly from?: Instant | undefined; readonly to?: Instant | undefined }

/**
 * The span that is asked for: up to now, and from thirty days before on, unless it is said. It begins with a whole day, and
 * reads up to the end of today: that is read from sums, where half a day of many calls would be read from the ledger.
 */
const spanOf = (now: Instant, asked: Asked, groupBy: readonly UsageGroup[]) => {
  const { to = now + 1, from = Math.floor((Math.min(to, now) - SPAN_MS) / DAY_MS) * DAY_MS } = asked
  if (asked.from !== undefined && asked.to !== undefined && from > to)
    throw invalid('from', "'from' must not be after 'to'.")
  if (groupBy.includes('month') && to - from > MONTHS_MOST_MS)
    throw invalid('from', "'from' and 'to' may be ten years apart at most, by month.")
  const today = Math.ceil((now + 1) / DAY_MS) * DAY_MS
  return { from, to, until: asked.to ?? Math.max(to, today) }
}

/** The unit of time of a report of the most expensive keys. */
const slotOf = (groupBy: readonly UsageGroup[]) => {
  const [slot, by, ...more] = groupBy
  if ((slot !== 'hour' && slot !== 'day' && slot !== 'month') || by !== 'key' || more.length > 0)
    throw invalid('top', "'top' goes with 'group_by' of hour,key, day,key or month,key.")
  return slot
}

export const usageReport = act({
  name: 'usage.report',
  summary:
    'What was used in a span, summed by groups; equal to the ledger. `from` is included and `to` is not; days are in UTC.',
  reads: ['read', 'read_own'],
  amounts: 'told',
  input: {
    from: moment,
    to: moment,
    group_by: groups,
    ...scopeMembers,
    model: z.string().optional(),
    vendor: z.string().optional(),
    status: z.string().optional(),
    tag: tagNamed.describe('Only calls for this (`team=red`); or, to group by it, the tag (`team`)'),
    sort: z
      .enum(['groups', 'cost'], 'must be groups or cost')
      .optional()
      .describe('In the order of the groups, or the highest cost first'),
    top: count(1, 20).describe('So many keys by themselves, the most expensive, and all others as one'),
    limit: count(1, ROWS_MOST).describe(`The most rows; ${ROWS_USUAL} if absent`),
  },
  shows: namedObject('UsageReport', {
    from: z.string(),
    to: z.string(),
    group_by: z.array(z.enum(usageGroups)),
    own: z.boolean(),
    total: z.object(counted),
    rows: z
      .array(row)
      .describe(
        'By key also `label`, `parent` and whether it is `deleted`; by sub-wallet null for calls in none. By sub-wallet, payment mode or tag, and by hours of keys, tokens of calls whose details were deleted are left out; costs and requests are all there',
      ),
    has_more: z.boolean().describe('Whether there are rows beyond the limit; the total counts them'),
  }),
  does: async (acting, { from, to, group_by: groupBy, sort, top, limit = ROWS_USUAL, ...asked }) => {
    const { control, who } = acting
    const { store, clock } = control
    const { model, vendor, status, tag, ...named } = asked
    if (groupBy.includes('tag') && tag === undefined)
      throw invalid('tag', "'group_by' of tag needs 'tag', the name of one: user for end users.")
    if (tag !== undefined && tag.value === undefined && !groupBy.includes('tag'))
      throw invalid('tag', "'tag' must be like team=red, or 'group_by' has tag.")
    const span = spanOf(clock.now(), { from, to }, groupBy)
    const query = {
      ...(await scopeOf(acting, named)),
      mayLag: true as const,
      from: span.from,
      to: span.until,
      only: {
        ...present({ model, vendor, status, tag }),
      },
    }
    const found =
      top === undefined
        ? await store.reports.usageAndTotal({ ...query, groupBy, most: limit + 1, byCost: sort === 'cost' })
        : await store.reports.usageTop({ ...query, slot: slotOf(groupBy), most: top })
    const { rows, total } = await toldUsage(acting, { ...query, groupBy }, found)
    return {
      from: isoOf(span.from),
      to: isoOf(span.to),
      group_by: [...groupBy],
      own: named.own ?? false,
      total: shownCounts(total),
      rows: rows.slice(0, limit).map(shownRow(who.reach.of === 'key')),
      has_more: rows.length > limit,
    }
  },
})

type Found = { readonly rows: readonly ReportLine[]; readonly total: Counted }
type Query = Omit<ReportQuery, 'most'>

const toldAt = <Line extends Counted>(line: Line, terms: Terms): Line => ({
  ...line,
  amount: told(line.amount, terms),
  cacheSaved: told(line.cacheSaved, terms),
})

const monthIn = ({ groups: { hour, day, month } }: ReportLine): string | undefined =>
  (hour ?? day ?? month)?.slice(0, 7)

/** Whether the price is the same from one instant to the other. */
const isOnePrice = (terms: Terms, from: Instant, to: Instant): boolean => {
  const { basisPoints } = termsIn(terms, monthOf(from))
  for (let at = nextMonthStart(from); at < to; at = nextMonthStart(at))
    if (termsIn(terms, monthOf(at)).basisPoints !== basisPoints) return false
  return true
}

/**
 * What was found, as who asks is told it. Throws the refusal of rows without a time if the price changed within the span,
 * as it is that of no month.
 */
const toldUsage = async (
  { control: { store, clock }, who: { reach } }: Acting,
  query: Query,
  found: Found,
): Promise<Found> => {
  if (reach.of !== 'key' || reach.key.terms === undefined || tellsNothing(reach.key.terms)) return found
  const { terms } = reach.key
  const { from } = query
  if (isOnePrice(terms, from, Math.min(query.to, clock.now() + 1))) {
    const its = termsIn(terms, monthOf(from))
    return { rows: found.rows.map((line) => toldAt(line, its)), total: toldAt(found.total, its) }
  }
  const timed = query.groupBy.some((group) => group === 'hour' || group === 'day' || group === 'month')
  if (!timed && query.groupBy.length > 0)
    throw invalid('group_by', "The price changed within the span: add month, day or hour to 'group_by'.")
  const inMonth = (line: ReportLine) => toldAt(line, termsIn(terms, monthIn(line) ?? monthOf(from)))
  const months = await store.reports.usage({ ...query, groupBy: ['month'], byCost: false, most: 1_000 })
  const sum = (of: (line: ReportLine) => bigint) =>
    months.map(inMonth).reduce((all, line) => all + of(line), 0n)
  const total = {
    ...found.total,
    amount: sum(({ amount }) => amount),
    cacheSaved: sum(({ cacheSaved }) => cacheSaved),
  }
  return { rows: found.rows.map((line) => (timed ? inMonth(line) : { ...line, ...total })), total }
}
