/** What receipts need from the store: the keys that sign them, and charged calls with what they used. */
import { readDetail } from '../ledger/read-detail.ts'
import type { ChargedCall } from '../ledger/words.ts'
import { type Engine, once, type Row, statement } from './engine.ts'
import type { ReceiptStore, StoredReceiptKey } from './port.ts'
import { countOf, maybeText, nanoOf, onlyRow, textOf } from './row.ts'

const keyOf = (row: Row): StoredReceiptKey => ({
  number: countOf(row, 'n'),
  kid: textOf(row, 'kid'),
  publicKey: textOf(row, 'public_key'),
  sealed: textOf(row, 'sealed'),
  signsFrom: countOf(row, 'signs_from'),
  createdAt: countOf(row, 'created_at'),
})

const chargedOf = (callId: string, row: Row): ChargedCall => {
  const waived = textOf(row, 'kind') === 'writeoff'
  const text = maybeText(row, 'detail')
  const detail = text === undefined ? undefined : readDetail(JSON.parse(text))
  return {
    callId,
    keyId: textOf(row, 'key_id'),
    charged: waived ? 0n : nanoOf(row, 'amount'),
    account: textOf(row, 'debit'),
    at: countOf(row, 'at'),
    posted: waived ? 'waived' : maybeText(row, 'note') === 'recovered' ? 'recovered' : 'as settled',
    ...(detail === undefined ? {} : { detail }),
  }
}

export const receiptStore = (engine: Engine): ReceiptStore => {
  const { now } = engine.words
  return {
    receiptKeys: async () =>
      (await once(engine, 'control', statement('select * from receipt_key order by n'))).map(keyOf),
    addReceiptKey: async ({ number, kid, publicKey, sealed }, waitMs) => {
      const [, rows = []] = await engine.batch('control', [
        statement(
          `insert into receipt_key (n, kid, public_key, sealed, signs_from, created_at)
           values ($1, $2, $3, $4, ${now} + cast($5 as bigint), ${now}) on conflict (n) do nothing`,
          number,
          kid,
          publicKey,
          sealed,
          waitMs,
        ),
        statement('select * from receipt_key where n = $1', number),
      ])
      return keyOf(onlyRow(rows))
    },
    removeReceiptKey: async (kid) => {
      const text = 'delete from receipt_key where kid = $1 returning kid'
      return (await once(engine, 'control', statement(text, kid))).length > 0
    },
    chargedCall: async (callId) => {
      // A call has one of the two kinds; if a bug made both, what its key paid is the one that counts.
      const [row] = await once(
        engine,
        'control',
        statement(
          `select t.kind, t.debit, t.key_id, t.amount, t.note, t.at, d.detail from transfer t
           left join usage_detail d on d.call_id = t.ref
           where t.ref = $1 and t.kind in ('usage', 'writeoff') order by t.kind limit 1`,
          callId,
        ),
      )
      return row === undefined ? undefined : chargedOf(callId, row)
    },
  }
}
