/** Recomputes charges from the stored details of their calls: units times prices, never more than was held. */
import { least } from '../../core/money.ts'
import { inputTokens, outputTokens } from '../../core/usage.ts'
import type { UsageDetail } from '../../ledger/types.ts'
import { chargeFor } from '../../pricing/charge.ts'
import { type Engine, once, type Row } from '../engine/engine.ts'
import { countOf, maybeNano, maybeText, textOf } from '../engine/row.ts'
import { detailOf, isOf } from './call-rows.ts'

/** Calls per batch, so that no statement takes long, however large the ledger is. */
const PAGE = 2_000

const page = `select d.*, t.kind, t.amount, t.key_id, t.settled from usage_detail d
  left join transfer t on t.ref = d.call_id and t.kind in ('usage', 'writeoff')
  where d.call_id > $1 order by d.call_id limit ${PAGE}`

/** The places of keys that took one by rotation. */
type Places = ReadonlyMap<string, string>

/** The values of the key that one of them is. */
const valuesOf = (places: Places, key: string): readonly string[] => {
  const place = places.get(key) ?? key
  return [place, ...[...places].flatMap(([id, of]) => (of === place ? [id] : []))]
}

/** One call whose charge does not match its detail, if there is one. */
export const chargesThatDiffer = async (engine: Engine): Promise<string | undefined> => {
  const taken = await once(engine, 'reading', 'select id, place from api_key where place is not null')
  const places: Places = new Map(taken.map((row) => [textOf(row, 'id'), textOf(row, 'place')]))
  for (let after = ''; ; ) {
    const rows = await once(engine, 'reading', page, after)
    for (const row of rows) {
      const wrong = offenceOf(row, places)
      if (wrong !== undefined) return `${textOf(row, 'call_id')} ${wrong}`
    }
    const last = rows.at(-1)
    if (last === undefined || rows.length < PAGE) return undefined
    after = textOf(last, 'call_id')
  }
}

const offenceOf = (row: Row, places: Places): string | undefined => {
  const amount = maybeNano(row, 'amount')
  if (amount === undefined) return 'has a detail and no charge'
  const key = maybeText(row, 'key_id') ?? ''
  const detail = detailOf(row, textOf(row, 'call_id'), key)
  if (detail === undefined) return 'has a detail that cannot be read'
  const { usage } = detail
  const tokens = [countOf(row, 'input_tokens'), countOf(row, 'output_tokens')]
  // One value of a rotated key may end the call that another one opened.
  const ofKey = isOf(row, detail, key) || valuesOf(places, key).some((one) => isOf(row, detail, one))
  if (detail.model !== textOf(row, 'model') || !ofKey) return 'is of another model or key than its detail'
  if (tokens[0] !== inputTokens(usage) || tokens[1] !== outputTokens(usage))
    return 'counts other tokens than its detail'
  // A recovered charge is what the call's last checkpoint said.
  if (maybeText(row, 'settled') === 'recovered') return undefined
  const charge = chargeOf(detail)
  return charge === undefined || charge === amount
    ? undefined
    : `is charged ${amount}, and comes to ${charge}`
}

/** Undefined if no prices were stored, because receipts were off. */
const chargeOf = ({ usage, receipt }: UsageDetail): bigint | undefined => {
  if (receipt === undefined) return undefined
  return least(chargeFor({ rates: receipt.prices, tiers: [], version: '' }, usage), receipt.authorized)
}
