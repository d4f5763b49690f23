/** What is sent to channels: written with the step that it tells of, given out until it is confirmed, kept as a log. */
import { isObject, type Json, type JsonObject } from '../../core/json-body.ts'
import { channelKinds } from '../../tenancy/alert-kinds.ts'
import { integer, json, maybe, oneOf, rowsOf, text } from '../engine/columns.ts'
import { isDue } from '../engine/due.ts'
import { type Engine, once, type Run, statement } from '../engine/engine.ts'
import { textOf } from '../engine/row.ts'
import { type AlertBook, deliveryStates } from './alert-port.ts'

const TRIES = 8
/** Longer than a receiver or a mail server may take. */
const AGAIN_MS = 60_000
/** Of one organisation at a time: its receivers may be silent, and others would wait behind them. */
const OF_ORG = 20
const AGAIN_LONGEST_MS = AGAIN_MS * TRIES * TRIES

export const objectIn = (value: Json): JsonObject => (isObject(value) ? value : {})

export const channelRows = rowsOf({
  id: text('id'),
  orgId: text('org_id'),
  name: text('name'),
  kind: oneOf('kind', channelKinds),
  target: text('target'),
})
const deliveryRows = rowsOf({
  id: text('id'),
  alertId: text('alert_id'),
  channelId: text('channel_id'),
  what: oneOf('what', ['reached', 'resolved', 'test']),
  message: json('message', objectIn),
  state: oneOf('state', deliveryStates),
  tries: integer('tries'),
  at: integer('at'),
  sentAt: maybe(integer('sent_at')),
  error: maybe(text('error')),
})

type NewDelivery = Pick<DeliveryRow, 'alertId' | 'what' | 'message'>
type DeliveryRow = ReturnType<typeof deliveryRows.read>

/** Writes a message to each of the channels that the organisation has. */
export const send = (
  { dialect: { now, each } }: Engine,
  run: Run,
  it: NewDelivery & { readonly orgId: string; readonly channels: readonly string[]; readonly kinds?: string },
) =>
  run(
    `insert into alert_delivery (id, org_id, channel_id, alert_id, what, message, state, at)
     select x.value->>'d', c.org_id, c.id, $2, $3, $4, 'due', ${now}
     from ${each('$1')} x join alert_channel c on c.id = x.value->>'c' and c.org_id = $5 ${it.kinds ?? ''}`,
    [
      JSON.stringify(it.channels.map((c) => ({ c, d: Bun.randomUUIDv7() }))),
      it.alertId,
      it.what,
      JSON.stringify(it.message),
      it.orgId,
    ],
  )

export const deliveryStatements = (
  engine: Engine,
): Pick<AlertBook, 'deliveries' | 'takeDeliveries' | 'delivered'> => {
  const { now, lockFree } = engine.dialect
  return {
    deliveries: async ({ orgId, before, most }) => {
      const text = `select * from alert_delivery where org_id = $1 and ($2 = '' or id < $2) order by id desc limit $3`
      const found = await once(engine, 'control', text, orgId, before ?? '', most)
      return found.map(deliveryRows.read)
    },
    takeDeliveries: async (most) => {
      const due = (at: string) => `${at}state = 'due' and ${isDue(now, `${at}next_at`, AGAIN_LONGEST_MS)}`
      const turns = `select w.id, w.next_at, row_number() over (partition by w.org_id order by w.next_at, w.id) as turn
        from alert_delivery w where ${due('w.')}`
      const next = `select t.id from (${turns}) t where t.turn <= ${OF_ORG} order by t.turn, t.next_at, t.id limit $1`
      const [, taken = []] = await engine.batch('control', [
        statement(`update alert_delivery set state = 'given_up' where ${due('')} and tries >= ${TRIES}`),
        statement(
          `update alert_delivery set tries = tries + 1, next_at = ${now} + ${AGAIN_MS} * (tries + 1) * (tries + 1)
           where ${due('')} and id in (select d.id from alert_delivery d where ${due('d.')}
             and d.id in (${next})${lockFree('d')}) returning *`,
          most,
        ),
      ])
      if (taken.length === 0) return []
      const ids = JSON.stringify(taken.map((row) => ({ c: textOf(row, 'channel_id') })))
      const text = `select * from alert_channel where id in (select x.value->>'c' from ${engine.dialect.each('$1')} x)`
      const channels = (await once(engine, 'control', text, ids)).map(channelRows.read)
      return taken.map(deliveryRows.read).flatMap((delivery) => {
        const channel = channels.find(({ id }) => id === delivery.channelId)
        return channel === undefined ? [] : [{ ...delivery, channel }]
      })
    },
    delivered: async (id, error) => {
      const set = error === undefined ? `state = 'sent', sent_at = ${now}, error = null` : 'error = $2'
      const text = `update alert_delivery set ${set} where id = $1 and state = 'due'`
      const params = error === undefined ? [id] : [id, error]
      await once(engine, 'control', text, ...params)
    },
  }
}
