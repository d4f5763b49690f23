/** The journal of outcomes in the store: counters by key, day and code, and rows within their budget. */
import { isObject, type Json } from '../../core/json-body.ts'
import { readTags, readTries } from '../../ledger/read-detail.ts'
import { integer, json, maybe, rowsOf, text } from '../engine/columns.ts'
import type { Engine, Run, Value } from '../engine/engine.ts'
import { countOf, textOf } from '../engine/row.ts'
import type { Failure, FailureDetail, FailureStore } from './failure-port.ts'

const readDetail = (value: Json): FailureDetail => {
  const read = isObject(value) ? value : {}
  const { tookMs, firstByteMs, owner, tries, tags, guardrails } = read
  const texts = (['endpoint', 'limit', 'param'] as const).flatMap((name) =>
    typeof read[name] === 'string' ? [[name, read[name]]] : [],
  )
  return {
    tookMs: Number(tookMs ?? 0),
    ...(typeof firstByteMs === 'number' ? { firstByteMs } : {}),
    ...Object.fromEntries(texts),
    ...(owner === 'key' || owner === 'parent' ? { owner } : {}),
    ...(tries === undefined ? {} : { tries: readTries(tries) }),
    ...(tags === undefined ? {} : { tags: readTags(tags) }),
    ...(guardrails === undefined ? {} : { guardrails: readTags(guardrails) }),
  }
}

/** Rows as they are read back. */
export const failureRows = rowsOf({
  id: text('id'),
  keyId: text('key_id'),
  at: integer('at'),
  model: maybe(text('model')),
  vendor: maybe(text('vendor')),
  code: text('code'),
  status: integer('status'),
  detail: json('detail', readDetail),
})

const slotOf = ({ keyId, code }: Pick<Failure, 'keyId' | 'code'>): string => `${keyId} ${code}`

type Counted = { readonly orgId: string; readonly calls: number }

/** Adds to the counters, and tells their new values by slot. In order, so that processes never wait for each other in a circle. */
const count = async (
  { dialect }: Engine,
  run: Run,
  { day, counts }: Parameters<FailureStore['noteFailures']>[0],
): Promise<ReadonlyMap<string, Counted>> => {
  const rows = await run(
    `insert into failed_day (slot, org_id, key_id, day, code, calls)
     select x.value->>'s', k.org_id, k.id, cast($2 as bigint), x.value->>'c', cast(x.value->>'n' as bigint)
     from ${dialect.each('$1')} x join api_key k on k.id = x.value->>'k' and k.deleted = 0
     order by 1 on conflict (slot) do update set calls = failed_day.calls + excluded.calls
     returning org_id, key_id, code, calls`,
    [
      JSON.stringify(
        counts.map(({ keyId, code, calls }) => ({
          s: `${keyId} ${day} ${code}`,
          k: keyId,
          c: code,
          n: calls,
        })),
      ),
      day,
    ],
  )
  return new Map(
    rows.map((row) => [
      slotOf({ keyId: textOf(row, 'key_id'), code: textOf(row, 'code') }),
      { orgId: textOf(row, 'org_id'), calls: countOf(row, 'calls') },
    ]),
  )
}

/** One statement a row: an engine in this process takes bound values faster than it reads JSON. */
const INSERT = `insert into failed_call (call_id, org_id, key_id, at, model, vendor, code, status, detail)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9) on conflict (call_id) do nothing`

const paramsOf = (row: Failure, orgId: string): readonly Value[] => [
  ...[row.id, orgId, row.keyId, row.at, row.model ?? null, row.vendor ?? null],
  ...[row.code, row.status, JSON.stringify(row.detail)],
]

export const failureStore = (engine: Engine): FailureStore => ({
  noteFailures: (it, most) =>
    engine.transaction('relaxed', async (run) => {
      const counted = await count(engine, run, it)
      const room = new Map(
        it.counts.flatMap((one) => {
          const calls = counted.get(slotOf(one))?.calls
          return calls === undefined ? [] : [[slotOf(one), most - (calls - one.calls)]]
        }),
      )
      const kept = it.rows.filter((row) => {
        const left = room.get(slotOf(row)) ?? 0
        room.set(slotOf(row), left - 1)
        return left > 0
      })
      await Promise.all(kept.map((row) => run(INSERT, paramsOf(row, counted.get(slotOf(row))?.orgId ?? ''))))
      return it.counts.filter((one) => (counted.get(slotOf(one))?.calls ?? 0) >= most)
    }),
})
