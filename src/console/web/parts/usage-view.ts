/** The view of the usage page, as its address says it. */
import { dayIn, known } from './forms/field.tsx'
import type { Query } from './use-view.ts'

export const DAY = 86_400_000
export const dayOf = (at: number): string => new Date(at).toISOString().slice(0, 10)

export const groupNames = {
  model: 'Model',
  key: 'Key',
  vendor: 'Vendor',
  status: 'Status',
  sub_wallet: 'Sub-wallet',
  payment_mode: 'Payment mode',
  tag: 'End user',
} as const
/** Groups that the report cannot be limited to one of. */
export const unlimited: readonly string[] = ['sub_wallet', 'payment_mode', 'tag']
type Group_ = keyof typeof groupNames
export const everyName = { key: 'All keys', vendor: 'All vendors', status: 'Any status' } as const
export const slotNames = { day: 'Day', hour: 'Hour', month: 'Month' } as const

export type View = {
  from: string
  to: string
  by: Group_
  slot: keyof typeof slotNames
  model: string
  vendor: string
  status: string
  key: string
  /** Whether thousands of rows are requested. */
  rows: 'all' | ''
}

export const viewOf = (query: Query): View => {
  const tomorrow = (Math.trunc(Date.now() / DAY) + 1) * DAY
  return {
    from: dayIn(query.from) || dayOf(tomorrow - 30 * DAY),
    to: dayIn(query.to) || dayOf(tomorrow - DAY),
    by: known(groupNames, query.by, 'model'),
    slot: known(slotNames, query.slot, 'day'),
    model: query.model ?? '',
    vendor: query.vendor ?? '',
    status: query.status ?? '',
    key: query.key ?? '',
    rows: query.rows === 'all' ? 'all' : '',
  }
}

/** The last day counts in full. */
export const filterOf = ({ from, to, by, model, vendor, status, key }: View) => ({
  from,
  to: dayOf(Date.parse(to) + DAY),
  model,
  vendor,
  status,
  ...(by === 'tag' ? { tag: 'user' } : {}),
  ...(key === '' ? {} : { key, own: 'true' }),
})
