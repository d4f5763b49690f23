/** What receipts need from the store: the keys that sign them, and charged calls with their use. */
import { present } from '../../core/json-body.ts'
import type { ChargedCall } from '../../ledger/types.ts'
import { followedBy, integer, maybe, nano, oneOf, rowsOf, text } from '../engine/columns.ts'
import { type Engine, once, type Row, type Run } from '../engine/engine.ts'
import { maybeText, onlyRow } from '../engine/row.ts'
import { DETAIL_COLUMNS, detailOf } from '../ledger/call-rows.ts'
import { isPaid } from '../ledger/sums.ts'
import type { Actor } from '../people/event-port.ts'
import { recordIn } from '../people/event-store.ts'
import { HOUSE } from '../people/machine-port.ts'
import type { ReceiptStore } from './receipt-port.ts'

const receiptKeys = rowsOf({
  number: integer('n'),
  kid: text('kid'),
  publicKey: text('public_key'),
  sealed: text('sealed'),
  signsFrom: integer('signs_from'),
  createdAt: integer('created_at'),
})

/** What was posted for a call. */
const posted = rowsOf({
  kind: oneOf('kind', ['usage', 'writeoff']),
  payer: text('debit'),
  keyId: text('key_id'),
  amount: nano('amount'),
  settled: maybe(text('settled')),
  at: integer('at'),
})

/** A call that was posted, with its detail if that is still stored. */
export const chargedOf = (callId: string, row: Row): ChargedCall => {
  const { kind, payer, keyId, amount, settled, at } = posted.read(row)
  const detail = detailOf(row, callId, keyId)
  const waived = kind === 'writeoff'
  return {
    callId,
    keyId,
    charged: waived ? 0n : amount,
    payer,
    at,
    posted: waived ? 'waived' : settled === 'recovered' ? 'recovered' : 'as settled',
    ...(detail === undefined ? {} : { detail }),
  }
}

export const receiptStore = (engine: Engine): ReceiptStore => {
  const { now } = engine.dialect
  const record = (run: Run, what: string, kid: string, actor: Actor) =>
    recordIn(run, engine.dialect, { actor, orgId: HOUSE, what: `receipt_key.${what}`, subject: kid })
  return {
    receiptKeys: async () =>
      (await once(engine, 'control', 'select * from receipt_key order by n')).map(receiptKeys.read),
    addReceiptKey: ({ number, kid, publicKey, sealed }, waitMs, by) =>
      engine.transaction('control', async (run) => {
        const { text, params } = followedBy(
          receiptKeys.insert(
            'receipt_key',
            { number, kid, publicKey, sealed },
            {
              signs_from: (bind) => `${now} + cast(${bind(waitMs)} as bigint)`,
              created_at: now,
            },
          ),
          'on conflict (n) do nothing returning kid',
        )
        const made = await run(text, params)
        if (made.length > 0) await record(run, 'made', kid, by)
        return receiptKeys.read(onlyRow(await run('select * from receipt_key where n = $1', [number])))
      }),
    sealReceiptKey: async (kid, { before, sealed }) => {
      const text = 'update receipt_key set sealed = $3 where kid = $1 and sealed = $2'
      await once(engine, 'control', text, kid, before, sealed)
    },
    removeReceiptKey: (kid, by) =>
      engine.transaction('control', async (run) => {
        const gone = await run('delete from receipt_key where kid = $1 returning kid', [kid])
        if (gone.length > 0) await record(run, 'revoked', kid, by)
        return gone.length > 0
      }),
    chargedCall: async (callId) => {
      // A call has one of the two kinds; if a bug made both, the one that its key paid counts.
      const [row] = await once(
        engine,
        'control',
        `select t.kind, t.debit, t.key_id, t.amount, t.settled, t.month, t.at, ${DETAIL_COLUMNS} from transfer t
           left join usage_detail d on d.call_id = t.ref
           where t.ref = $1 and t.kind in ('usage', 'writeoff') and ${isPaid} order by t.kind limit 1`,
        callId,
      )
      return row && { ...chargedOf(callId, row), ...present({ month: maybeText(row, 'month') }) }
    },
  }
}
