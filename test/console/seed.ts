/**
 * Past calls, written as the ledger would have written them, for reports and pictures. The books balance afterwards.
 */
import { Database } from 'bun:sqlite'
import { dayOf, weekOf } from '../../src/core/time.ts'
import { keyScope } from '../../src/ledger/scopes.ts'

export type SeededCall = {
  readonly keyId: string
  readonly at: number
  readonly model: string
  readonly vendor: string
  readonly amount: bigint
  readonly input: number
  readonly output: number
  readonly ended?: string
  readonly tookMs?: number
}

const monthOf = (at: number): string => new Date(at).toISOString().slice(0, 7)

/** A request id of that time: its first 48 bits are the time. */
const idAt = (at: number, n: number): string => {
  const hex = at.toString(16).padStart(12, '0')
  const tail = n.toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-${tail}`
}

export type SeededTopUp = {
  readonly ref: string
  readonly at: number
  readonly amount: bigint
  readonly note: string
}

/** Writes calls and top-ups into the ledger's file; every key pays from the wallet. */
export const seedCalls = (
  path: string,
  walletId: string,
  calls: readonly SeededCall[],
  topUps: readonly SeededTopUp[] = [],
): void => {
  const database = new Database(path, { safeIntegers: true })
  database.run('PRAGMA busy_timeout = 5000')
  const charge = database.prepare(
    `insert into transfer (kind, ref, debit, credit, amount, key_id, month, day, at) values ('usage', ?1, ?2, 'revenue', ?3, ?4, ?5, ?6, ?7)`,
  )
  const detail = database.prepare(
    'insert into usage_detail (call_id, model, input_tokens, output_tokens, detail) values (?1, ?2, ?3, ?4, ?5)',
  )
  const count = database.prepare(
    `insert into budget (scope, owner_id, month, wallet_id, lim, used, calls)
     select ?1, ?2, ?3, ?4, (select case when ?3 is null then k.spend_cap else k.monthly_cap end from api_key k where k.id = ?2), ?5, 1
     where 1 = 1 on conflict (scope) do update set used = budget.used + excluded.used, calls = budget.calls + 1`,
  )
  const countDay = database.prepare(
    `insert into budget (scope, day, wallet_id, used, calls, keep_until) values (?1, ?2, ?3, ?4, 1, ?5)
     on conflict (scope) do update set used = budget.used + excluded.used, calls = budget.calls + 1`,
  )
  const countPeriod = database.prepare(
    `insert into budget (scope, owner_id, week, day, wallet_id, lim, used, calls, keep_until)
     select ?1, ?2, ?3, ?4, ?5, (select case when ?3 is null then k.daily_cap else k.weekly_cap end from api_key k where k.id = ?2), ?6, 1, ?7
     where 1 = 1 on conflict (scope) do update set used = budget.used + excluded.used, calls = budget.calls + 1`,
  )
  const line = database.prepare<{ owner_id: string }, [string]>(
    'select owner_id from key_line where key_id = ?1',
  )
  const pay = database.prepare('update account set balance = balance - ?2 where id = ?1')
  const post = database.prepare(
    `insert into transfer (kind, ref, debit, credit, amount, month, note, at) values ('topup', ?1, 'cash', ?2, ?3, ?4, ?5, ?6)`,
  )
  database.transaction(() => {
    for (const { ref, at, amount, note } of topUps) {
      post.run(ref, walletId, amount, monthOf(at), note, at)
      pay.run(walletId, -amount)
    }
    for (const [n, call] of calls.entries()) {
      const id = idAt(call.at, n)
      const month = monthOf(call.at)
      const day = dayOf(call.at)
      const week = weekOf(day)
      charge.run(id, walletId, call.amount, call.keyId, month, day, call.at)
      const written = {
        keyId: call.keyId,
        model: call.model,
        vendor: call.vendor,
        usage: { input: call.input, output: call.output },
        estimated: false,
        priceVersion: 'seed',
        startedAt: call.at - 900,
        tookMs: call.tookMs ?? 900,
        firstByteMs: 240,
        ended: call.ended ?? 'ok',
      }
      detail.run(id, call.model, call.input, call.output, JSON.stringify(written))
      for (const { owner_id: owner } of line.all(call.keyId)) {
        count.run(`key:${owner}`, owner, null, walletId, call.amount)
        count.run(`key:${owner}:${month}`, owner, month, walletId, call.amount)
        const kept = call.at + 16 * 86_400_000
        countPeriod.run(keyScope(owner, week), owner, week, null, walletId, call.amount, kept)
        countPeriod.run(keyScope(owner, day), owner, null, day, walletId, call.amount, kept)
      }
      if (day === new Date().toISOString().slice(0, 10))
        countDay.run(`day:${walletId}:${day}`, day, walletId, call.amount, Date.now() + 3 * 86_400_000)
      pay.run(walletId, call.amount)
    }
  })()
  database.close()
}
