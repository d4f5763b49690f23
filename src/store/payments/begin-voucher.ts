/**
 * The claim of a call's answer and the record of its voucher at once: in one round trip before its call, or in the commit of its
 * intent. It is done only where nothing is known of either; whoever finds that something is, looks in the usual order.
 */
import type { CallId, InstanceId, Intent } from '../../ledger/types.ts'
import type { VoucherOfCall, VoucherRecord } from '../../ledger/voucher.ts'
import type { Claim } from '../calls/idempotency-port.ts'
import { KEPT_MS } from '../calls/idempotency-store.ts'
import type { Now, Row, SqlDialect } from '../engine/engine.ts'
import { type Engine, statement, Violation } from '../engine/engine.ts'
import { countOf } from '../engine/row.ts'
import { textsOnce } from '../engine/texts.ts'
import type { ChannelStore, NewVoucher } from './channel-port.ts'
import { channels, FRESH_MS, freshMs, type KeptVoucher, LIFE_MS, ROUND_MS } from './channel-row.ts'

/**
 * A process that remembers a channel looked whether it is fresh, and its commit comes later. How long it may take is bounded here,
 * because between the two a payer may leave.
 */
const REMEMBERED_MS = 2 * FRESH_MS

/**
 * Each statement stands only with the one before, so all do or none. What is looked up is looked up by itself: PostgreSQL makes
 * a join of `not exists`, for which it reads whole tables. `:v` and the like are members of a row of `rowOf`.
 */
const texts = ({ now }: SqlDialect) => {
  const isNew = `(select p.id from x402_payment p where p.id = :v) is null`
  const isUnclaimed = `(select i.call_id from idempotency i where i.key_id = :w and i.endpoint = :e and i.idem_key = :n) is null`
  const taken = (ageMs: number): string => `update x402_channel set pending = q.id
    from (select :v as id, :k as channel_id, :b as begins, :m as most from :list where ${isNew} and ${isUnclaimed}) q
    where x402_channel.id = q.channel_id and x402_channel.pending is null and charged = q.begins
      and balance >= q.most and leaving_at is null and lost = 0 and seen_at > ${now} - ${ageMs}`
  return {
    taken: taken(FRESH_MS),
    remembered: taken(REMEMBERED_MS),
    recorded: `insert into x402_payment (id, call_id, fingerprint, amount, payer, sent, account_id, channel_id, state, scheme, credit_to,
        created_at, next_try, expires_at)
      select :v, :c, :f, :a, :p, :s, c.account_id, c.id, 'authorized', 'upto', 'revenue',
        ${now}, ${now} + ${ROUND_MS}, ${now} + ${LIFE_MS}
      from :list join x402_channel c on c.id = :k and c.pending = :v where ${isNew}`,
    claimed: `insert into idempotency (key_id, endpoint, idem_key, fingerprint, state, call_id, instance, locked_until, expires_at)
      select :w, :e, :n, :f, 'running', p.call_id, :i, ${now} + :l, ${now} + :l + ${KEPT_MS}
      from :list join x402_payment p on p.id = :v and p.call_id = :c and p.state = 'authorized' where ${isUnclaimed}`,
  }
}

type Record = ReturnType<typeof rowOf>

const MEMBER = /:(list|[a-z])\b/g
const NUMBERS = 'bmal'

/** The statements for all rows of a list in JSON. */
const listTexts = textsOnce((dialect) => {
  const inList = (text: string): string =>
    text.replace(MEMBER, (_all, name: string) => {
      if (name === 'list') return `${dialect.each('$1')} e`
      return NUMBERS.includes(name) ? `cast(e.value->>'${name}' as bigint)` : `e.value->>'${name}'`
    })
  const { taken, remembered, recorded, claimed } = texts(dialect)
  return {
    taken: inList(taken),
    remembered: inList(remembered),
    recorded: inList(recorded),
    claimed: inList(claimed),
    begun:
      inList(`select c.*, ${dialect.now} as now from :list join x402_payment p on p.id = :v and p.call_id = :c
      join x402_channel c on c.id = p.channel_id and c.pending = p.id`),
  }
})

/** The statements of a commit for one row, whose values are bound: a row in JSON would be read for each of its members. */
const rowTexts = textsOnce((dialect) => {
  const { remembered, recorded, claimed } = texts(dialect)
  return [remembered, recorded, claimed].map((text) => {
    const names: (keyof Record)[] = []
    const bound = text.replace(MEMBER, (_all, name: string) =>
      name === 'list' ? '(select 1) e' : `$${names.push(name as keyof Record)}`,
    )
    return { text: bound, names }
  })
})

type ToRecord = Pick<VoucherOfCall, 'id' | 'channel' | 'most' | 'signature'> &
  VoucherRecord & { readonly callId: CallId; readonly deposit?: string | undefined }

/** A voucher as the statements read it, by letters. */
const rowOf = ({ id, callId, channel, most, signature, deposit, ...it }: ToRecord, instance: InstanceId) => {
  const kept: KeptVoucher = { most: String(most), signature, deposit }
  return {
    v: id,
    c: callId,
    k: channel,
    b: most - it.amount,
    m: most,
    a: it.amount,
    f: it.fingerprint,
    p: it.payer,
    s: JSON.stringify(kept),
    w: it.ref.keyId,
    e: it.ref.endpoint,
    n: it.ref.key,
    l: it.lockMs,
    i: instance,
  }
}

const recordsOf = (intents: readonly Intent[], instance: InstanceId): readonly Record[] =>
  intents.flatMap(({ callId, voucher }) =>
    voucher?.record === undefined ? [] : rowOf({ ...voucher, ...voucher.record, callId }, instance),
  )

/** JSON has no integers as large as amounts. */
const jsonOf = (rows: readonly Record[]): string =>
  JSON.stringify(rows, (_name, value: unknown) => (typeof value === 'bigint' ? String(value) : value))

/** What a commit does first for these intents: it records their vouchers, as far as they are not in the ledger. */
export const voucherRecords = (dialect: SqlDialect, intents: readonly Intent[], instance: InstanceId) => {
  const rows = recordsOf(intents, instance)
  if (rows.length === 0) return []
  const { remembered, recorded, claimed } = listTexts(dialect)
  const its = jsonOf(rows)
  return [remembered, recorded, claimed].map((text) => statement(text, its))
}

/** The same for one intent. */
export const recordVoucher = (
  { change }: Now,
  dialect: SqlDialect,
  intent: Intent,
  instance: InstanceId,
): void => {
  for (const row of recordsOf([intent], instance))
    for (const { text, names } of rowTexts(dialect))
      if (change(text, ...names.map((name) => row[name])) === 0) return
}

/** See ChannelStore.beginVoucher. */
export const beginVoucher = async (
  engine: Engine,
  voucher: NewVoucher,
  { ref, instance, lockMs }: Claim,
): ReturnType<ChannelStore['beginVoucher']> => {
  const { taken, recorded, claimed, begun } = listTexts(engine.dialect)
  const its = jsonOf([rowOf({ ...voucher, channel: voucher.channel.id, ref, lockMs }, instance)])
  const all = [taken, recorded, claimed, begun].map((text) => statement(text, its))
  try {
    const [row] = ((await engine.batch('control', all)).at(-1) ?? []) as readonly Row[]
    if (row === undefined) return undefined
    const channel = channels.read(row)
    return { channel, freshMs: freshMs(channel, countOf(row, 'now')) }
  } catch (error) {
    if (error instanceof Violation) return undefined
    throw error
  }
}
