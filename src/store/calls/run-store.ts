/** Rows of jobs: who looks after them, what is new about them, and who may see them. Their money is in run-money.ts. */
import { jobInstance } from '../../ledger/types.ts'
import { type Engine, once, type Statement, statement } from '../engine/engine.ts'
import type { Expired } from '../engine/expire.ts'
import { beginRun, endRun, forgetRun } from '../ledger/run-money.ts'
import { runOwners } from './run-owners.ts'
import { type Run, type RunStore, runStates } from './run-port.ts'
import { runOf } from './run-row.ts'

/**
 * Pauses between tries of a webhook, by their number: a minute, then five times as long each time, for about ten hours.
 */
const AGAIN_MS = [60_000, 300_000, 1_500_000, 7_500_000, 28_800_000]
const putOff = `case run.webhook_tries ${AGAIN_MS.map((ms, tries) => `when ${tries} then ${ms}`).join(' ')} end`

export const expiredRuns = (now: string): Expired => ({
  table: 'run',
  key: 'id',
  where: `x.ended_at is not null and x.keep_until < ${now}`,
})

/** Whether key `$2` owns the run or is above the key that does. */
const owns = 'exists (select 1 from key_line n where n.owner_id = $2 and n.key_id = run.key_id)'

export const runStore = (engine: Engine): RunStore => {
  const { now, each, lockFree } = engine.dialect
  const first = async (it: Statement): Promise<Run | undefined> =>
    (await once(engine, 'control', it)).map(runOf)[0]
  const change = (text: string, ...params: Statement['params'][number][]) =>
    once(engine, 'control', text, ...params)
  return {
    begin: (it) => beginRun(engine, it),
    forget: (id) => forgetRun(engine, id),
    end: async (id, it) => {
      const row = await endRun(engine, id, it)
      return row === undefined ? undefined : runOf(row)
    },
    began: async (id, { facts, webhook, ref }) => {
      const claim = `update idempotency set instance = $1, locked_until = expires_at
        where key_id = $2 and endpoint = $3 and idem_key = $4 and call_id = $5 and state = 'running'
          and exists (select 1 from run r where r.id = $5 and r.state = 'running')`
      const [began] = await engine.batch('control', [
        statement(
          `update run set state = 'running', facts = $2, webhook = $3 
             where id = $1 and (state = 'submitting' or (state = 'running' and facts = $2)) returning id`,
          id,
          JSON.stringify(facts),
          webhook ?? null,
        ),
        ...(ref === undefined
          ? []
          : [statement(claim, jobInstance(id), ref.keyId, ref.endpoint, ref.key, id)]),
      ])
      return began?.length === 1
    },
    ...runOwners(engine),
    run: (id) => first(statement('select * from run where id = $1', id)),
    runFor: (id, keyId) => first(statement(`select * from run where id = $1 and ${owns}`, id, keyId)),
    runsOf: async (keyId, { states = runStates, most, after }) => {
      const older = after === undefined ? '' : 'and (created_at, id) < (cast($4 as bigint), $5)'
      const wanted = `select * from run where key_id = $1 and state in (select e.value->>'s' from ${each('$2')} e)
        ${older} order by created_at desc, id desc limit $3`
      const rows = await once(
        engine,
        'reading',
        wanted,
        keyId,
        JSON.stringify(states.map((s) => ({ s }))),
        most,
        ...(after === undefined ? [] : [after.createdAt, after.id]),
      )
      return rows.map(runOf)
    },
    takeWebhooks: async ({ most, ofWallet, except }) => {
      const turns = `select w.id, w.webhook_at, row_number() over (partition by w.wallet_id order by w.webhook_at) as turn
        from run w where w.webhook_at <= ${now} and w.wallet_id not in (select e.value->>'w' from ${each('$3')} e)`
      const next = `select d.id from (${turns}) d where d.turn <= $2 order by d.turn, d.webhook_at limit $1`
      const rows = await change(
        `update run set webhook_at = ${now} + ${putOff}, webhook_tries = run.webhook_tries + 1 where id in (select r.id
           from run r where r.webhook_at <= ${now} and r.id in (${next})${lockFree('r')}) returning *`,
        most,
        ofWallet,
        JSON.stringify(except.map((w) => ({ w }))),
      )
      return rows.map(runOf)
    },
    webhookSent: async (id) => {
      await change('update run set webhook_at = null where id = $1', id)
    },
  }
}
