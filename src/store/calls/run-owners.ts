/** Which process looks after which jobs, and what has changed about them. */
import { type Engine, once, type Statement, statement } from '../engine/engine.ts'
import { textOf, truthOf } from '../engine/row.ts'
import type { RunStore } from './run-port.ts'
import { runOf } from './run-row.ts'

type OfOwners = 'keep' | 'news' | 'take' | 'leave' | 'askCancel' | 'wake'

export const runOwners = (engine: Engine): Pick<RunStore, OfOwners> => {
  const { now, each, lockFree, oneOf } = engine.dialect
  const change = (text: string, ...params: Statement['params'][number][]) =>
    once(engine, 'control', text, ...params)
  return {
    keep: async (owner, { ids, lifeMs, progress }) => {
      const writeProgress = `update run set progress = cast(e.value->>'p' as bigint) from ${each('$1')} e
        where run.id = e.value->>'i' and run.ended_at is null`
      const list = JSON.stringify(progress.map(({ id, progress: p }) => ({ i: id, p })))
      await engine.batch('control', [
        statement(
          `update run set owner_until = ${now} + cast($2 as bigint)
           where owner = $1 and ended_at is null and id in (select e.value->>'i' from ${each('$3')} e)`,
          owner,
          lifeMs,
          JSON.stringify(ids.map((i) => ({ i }))),
        ),
        ...(progress.length === 0 ? [] : [statement(writeProgress, list)]),
      ])
    },
    news: async (owner) => {
      const rows = await change(
        'select id, cancel, wake from run where owner = $1 and ended_at is null and (cancel = 1 or wake = 1)',
        owner,
      )
      const woken = rows.filter((row) => truthOf(row, 'wake')).map((row) => ({ i: textOf(row, 'id') }))
      if (woken.length > 0)
        await change(
          `update run set wake = 0 where id in (select e.value->>'i' from ${each('$1')} e)`,
          JSON.stringify(woken),
        )
      return rows.map((row) => ({ id: textOf(row, 'id'), cancel: truthOf(row, 'cancel') }))
    },
    take: async (owner, { lifeMs, most, except = [] }) => {
      const next = `select r.id from run r where r.ended_at is null and r.owner_until < ${now}
        and r.id not in (select e.value->>'i' from ${each('$4')} e) order by r.owner_until limit $3${lockFree('r')}`
      const rows = await change(
        `update run set owner = $1, owner_until = ${now} + cast($2 as bigint) where ${oneOf('id', next)} returning *`,
        owner,
        lifeMs,
        most,
        JSON.stringify(except.map((i) => ({ i }))),
      )
      return rows.map(runOf)
    },
    leave: async (owner, id) => {
      const all = 'update run set owner_until = 0 where owner = $1 and ended_at is null'
      await (id === undefined ? change(all, owner) : change(`${all} and id = $2`, owner, id))
    },
    askCancel: async (id) => {
      await change('update run set cancel = 1 where id = $1 and ended_at is null', id)
    },
    wake: async (id) => {
      await change('update run set wake = 1 where id = $1 and ended_at is null and wake = 0', id)
    },
  }
}
