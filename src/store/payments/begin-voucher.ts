/**
 * The claim of a call's answer and the record of its voucher, in one round trip and one way to the disk. It is done only where
 * nothing is known of either; whoever finds that something is, looks in the usual order.
 */
import type { Claim } from '../calls/idempotency-port.ts'
import { KEPT_MS } from '../calls/idempotency-store.ts'
import type { Row, SqlDialect } from '../engine/engine.ts'
import { type Engine, statement, Violation } from '../engine/engine.ts'
import { textsOnce } from '../engine/texts.ts'
import type { Channel, NewVoucher } from './channel-port.ts'
import { channels, FRESH_MS, type KeptVoucher, LIFE_MS, ROUND_MS } from './channel-row.ts'

/** A row that is there already undoes all three, so each stands only with the others. */
const textsFor = textsOnce(({ now }: SqlDialect) => ({
  taken: `update x402_channel set pending = $2 where id = $1 and pending is null and charged = cast($3 as bigint)
      and balance >= cast($4 as bigint) and leaving_at is null and lost = 0 and seen_at > ${now} - ${FRESH_MS}
    returning *`,
  recorded: `insert into x402_payment (id, call_id, fingerprint, amount, payer, sent, account_id, channel_id, state, scheme, credit_to,
      created_at, next_try, expires_at)
    select $2, $3, $4, cast($5 as bigint), $6, $7, c.account_id, c.id, 'authorized', 'upto', 'revenue',
      ${now}, ${now} + ${ROUND_MS}, ${now} + ${LIFE_MS}
    from x402_channel c where c.id = $1 and c.pending = $2`,
  claimed: `insert into idempotency (key_id, endpoint, idem_key, fingerprint, state, call_id, instance, locked_until, expires_at)
    select $1, $2, $3, $4, 'running', p.call_id, $7, ${now} + cast($8 as bigint), ${now} + cast($8 as bigint) + ${KEPT_MS}
    from x402_payment p where p.id = $5 and p.call_id = $6`,
}))

/** See ChannelStore.beginVoucher. */
export const beginVoucher = async (
  engine: Engine,
  { id, callId, fingerprint, amount, payer, channel, most, signature, deposit }: NewVoucher,
  { ref, instance, lockMs }: Claim,
): Promise<Channel | undefined> => {
  const texts = textsFor(engine.dialect)
  const name = [ref.keyId, ref.endpoint, ref.key]
  const kept: KeptVoucher = { most: String(most), signature, deposit }
  const sent = JSON.stringify(kept)
  const all = [
    statement(texts.taken, channel.id, id, most - amount, most),
    statement(texts.recorded, channel.id, id, callId, fingerprint, amount, payer, sent),
    statement(texts.claimed, ...name, fingerprint, id, callId, instance, lockMs),
  ]
  try {
    const [row] = ((await engine.batch('control', all))[0] ?? []) as readonly Row[]
    return row === undefined ? undefined : channels.read(row)
  } catch (error) {
    if (error instanceof Violation) return undefined
    throw error
  }
}
