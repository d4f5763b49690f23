/** Alerts in the store: a step is claimed under the lock of its rule, so that of many processes one tells of it. */

import type { Json, JsonObject } from '../../core/json-body.ts'
import { ruleKinds } from '../../tenancy/alert-kinds.ts'
import { integer, json, maybe, nano, oneOf, rowsOf, text } from '../engine/columns.ts'
import { isDue } from '../engine/due.ts'
import { type Engine, once, type Run, runOne, statement } from '../engine/engine.ts'
import type { Expired } from '../engine/expire.ts'
import { countOf, onlyRow, textOf } from '../engine/row.ts'
import { isOrgHere } from '../ledger/sums.ts'
import { recordIn } from '../people/event-store.ts'
import { type AlertBook, type OpenAlert, PAUSED, type Reached, type Rule } from './alert-port.ts'
import { channelRows, deliveryStatements, objectIn, send } from './delivery-store.ts'
import { isUnchanged } from './wallet-alert.ts'

const RULE_MS = 30_000
const KEPT_MS = 30 * 86_400_000

const listIn = (value: Json): readonly Json[] => (Array.isArray(value) ? value : [])

const ruleRows = rowsOf({
  id: text('id'),
  orgId: text('org_id'),
  name: text('name'),
  kind: oneOf('kind', ruleKinds),
  subject: maybe(text('subject')),
  amount: maybe(nano('amount')),
  steps: json('steps', (value): readonly number[] => listIn(value).map(Number)),
  channels: json('channels', (value): readonly string[] => listIn(value).map(String)),
  minutes: maybe(integer('minutes')),
})
const alertRows = rowsOf({
  id: text('id'),
  ruleId: text('rule_id'),
  period: text('period'),
  step: integer('step'),
  at: integer('at'),
})
/** What was sent or given up a month ago, and alerts whose period ended then. */
export const expiredAlerts = (now: string): readonly Expired[] => [
  { table: 'alert_delivery', key: 'id', where: `x.state <> 'due' and x.at < ${now} - ${KEPT_MS}` },
  { table: 'alert', key: 'id', where: `x.resolved_at is not null and x.ends_at < ${now} - ${KEPT_MS}` },
]

/** Only they know that something is over; a wallet's own webhook does not. */
const THAT_RESOLVE = `and c.kind in ('pagerduty', 'webhook') and not exists (select 1 from account w where w.id = c.id)`

/** Tells those that were told of it, whichever channels the rule has by now. */
const resolve = async (
  engine: Engine,
  run: Run,
  { orgId }: Pick<Rule, 'orgId'>,
  alerts: readonly { readonly id: string }[],
) => {
  for (const { id } of alerts) {
    await run(`update alert set resolved_at = ${engine.dialect.now} where id = $1`, [id])
    const told = await run(
      `select channel_id, message from alert_delivery where alert_id = $1 and what = 'reached'`,
      [id],
    )
    const [first] = told
    if (first === undefined) continue
    await send(engine, run, {
      orgId,
      channels: told.map((row) => textOf(row, 'channel_id')),
      alertId: id,
      what: 'resolved',
      message: objectIn(JSON.parse(textOf(first, 'message'))),
      kinds: THAT_RESOLVE,
    })
  }
}

const openOf = async (run: Run, ruleId: string) =>
  (await run('select * from alert where rule_id = $1 and resolved_at is null', [ruleId])).map(alertRows.read)

const isSame = ({ period, step, lasting }: Reached, open: OpenAlert): boolean =>
  step === open.step && (lasting === true || period === open.period)

const noteOn = (engine: Engine, ruleId: string, reached: readonly Reached[]) =>
  engine.transaction('control', async (run) => {
    const { now, lock } = engine.dialect
    const [row] = await run(`select r.* from alert_rule r where r.id = $1${lock('r')}`, [ruleId])
    if (row === undefined) return
    const rule = ruleRows.read(row)
    const open = await openOf(run, ruleId)
    await resolve(
      engine,
      run,
      rule,
      open.filter((one) => !reached.some((now) => isSame(now, one))),
    )
    // Of each cap its last step. Top-ups that are paused say nothing of a balance that is low, nor the reverse.
    const told = new Map<string, { readonly alertId: string; readonly message: JsonObject }>()
    for (const one of reached.filter((now) => !open.some((before) => isSame(now, before)))) {
      const id = Bun.randomUUIDv7()
      const made = await run(
        `insert into alert (id, rule_id, period, step, at, ends_at) values ($1, $2, $3, $4, ${now}, $5)
         on conflict (rule_id, period, step) do update set id = excluded.id, at = excluded.at, resolved_at = null
           where $6 = 1 returning id`,
        [id, ruleId, one.period, one.step, one.endsAt ?? null, one.lasting === true ? 1 : 0],
      )
      if (made.length > 0)
        told.set(`${one.period} ${one.step === PAUSED}`, { alertId: id, message: one.message })
    }
    const { orgId, channels } = rule
    for (const one of told.values()) await send(engine, run, { ...one, orgId, channels, what: 'reached' })
  })

const ruleStatements = (
  engine: Engine,
): Pick<AlertBook, 'rules' | 'putRule' | 'deleteRule' | 'takeRules'> => {
  const { dialect } = engine
  const { now, lock, lockFree } = dialect
  return {
    rules: async (orgId) => {
      const [rules = [], open = []] = await engine.batch('control', [
        statement('select * from alert_rule where org_id = $1 order by id', orgId),
        statement(
          `select a.* from alert a join alert_rule r on r.id = a.rule_id
           where r.org_id = $1 and a.resolved_at is null order by a.at`,
          orgId,
        ),
      ])
      const alerts = open.map(alertRows.read)
      return rules
        .map(ruleRows.read)
        .map((rule) => ({ ...rule, open: alerts.filter(({ ruleId }) => ruleId === rule.id) }))
    },
    putRule: (rule, by) =>
      engine.transaction('control', async (run) => {
        const [before] = await run(`select r.* from alert_rule r where r.id = $1${lock('r')}`, [rule.id])
        await run('delete from alert_rule where id = $1', [rule.id])
        const whole = { subject: undefined, amount: undefined, minutes: undefined, ...rule }
        await runOne(run, ruleRows.insert('alert_rule', whole, { created_at: now }))
        const event = { actor: by, orgId: rule.orgId, subject: rule.id }
        await recordIn(run, dialect, {
          ...event,
          what: before === undefined ? 'alert.created' : 'alert.changed',
          ...(before === undefined ? {} : { before: recorded(ruleRows.read(before)) }),
          after: recorded(rule),
        })
      }),
    deleteRule: ({ orgId, id }, by) =>
      engine.transaction('control', async (run) => {
        const own = `coalesce(r.subject, '') = r.id`
        const text = `select r.* from alert_rule r where r.id = $1 and r.org_id = $2 and not ${own}${lock('r')}`
        const [row] = await run(text, [id, orgId])
        if (row === undefined) return false
        const rule = ruleRows.read(row)
        await resolve(engine, run, rule, await openOf(run, id))
        await run('delete from alert where rule_id = $1', [id])
        await run('delete from alert_rule where id = $1', [id])
        const before = recorded(rule)
        await recordIn(run, dialect, { actor: by, orgId, what: 'alert.deleted', subject: id, before })
        return true
      }),
    takeRules: async (most) => {
      const due = isDue(now, 'r.next_at', RULE_MS)
      const next = `select r.id from alert_rule r where ${due} and not coalesce(${isUnchanged}, 1 = 0)
        and ${isOrgHere('r.org_id')} order by r.next_at limit $1${lockFree('r')}`
      const text = `update alert_rule set next_at = ${now} + ${RULE_MS} where ${dialect.oneOf('id', next)}
        and ${isDue(now, 'next_at', RULE_MS)} returning *`
      return (await once(engine, 'control', text, most)).map(ruleRows.read)
    },
  }
}

/** What the record says of a rule. */
const recorded = ({ name, kind, subject, steps }: Rule): JsonObject => ({
  label: name,
  kind,
  ...(subject === undefined ? {} : { of: subject }),
  steps: steps.join(' '),
})

const channelStatements = (
  engine: Engine,
): Pick<AlertBook, 'channels' | 'makeChannel' | 'deleteChannel' | 'testChannel'> => {
  const { dialect } = engine
  return {
    channels: async (orgId) => {
      const text = 'select * from alert_channel where org_id = $1 order by id'
      return (await once(engine, 'control', text, orgId)).map(channelRows.read)
    },
    makeChannel: (channel, by) =>
      engine.transaction('control', async (run) => {
        await runOne(run, channelRows.insert('alert_channel', channel, { created_at: dialect.now }))
        const { id: subject, orgId, name: label, kind } = channel
        const after = { label, kind }
        await recordIn(run, dialect, { actor: by, orgId, what: 'alert_channel.created', subject, after })
      }),
    deleteChannel: ({ orgId, id }, by) =>
      engine.transaction('control', async (run) => {
        const text = `delete from alert_channel where id = $1 and org_id = $2
          and not exists (select 1 from account w where w.id = $1) returning *`
        const [row] = await run(text, [id, orgId])
        if (row === undefined) return false
        await run(`update alert_delivery set state = 'given_up' where channel_id = $1 and state = 'due'`, [
          id,
        ])
        const before = { label: textOf(row, 'name'), kind: textOf(row, 'kind') }
        const what = 'alert_channel.deleted'
        await recordIn(run, dialect, { actor: by, orgId, what, subject: id, before })
        return true
      }),
    testChannel: ({ id, orgId, name: label }, message, by) =>
      engine.transaction('control', async (run) => {
        const alertId = Bun.randomUUIDv7()
        await send(engine, run, { orgId, channels: [id], alertId, what: 'test', message })
        const after = { label }
        await recordIn(run, dialect, {
          actor: by,
          orgId,
          what: 'alert_channel.tested',
          subject: id,
          after,
        })
        return alertId
      }),
  }
}

export const alertBook = (engine: Engine): AlertBook => {
  return {
    ...ruleStatements(engine),
    ...channelStatements(engine),
    noteReached: (ruleId, reached) => noteOn(engine, ruleId, reached),
    ...deliveryStatements(engine),
    failedSince: async (orgs, from) => {
      const [of, params] = orgs === 'all' ? ['', []] : [`and org_id = $2`, [orgs[0] ?? '']]
      const text = `select count(*) as calls from failed_call where status >= 500 and at >= $1 ${of}`
      return countOf(onlyRow(await once(engine, 'reading', text, from, ...params)), 'calls')
    },
  }
}
