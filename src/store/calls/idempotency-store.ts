/**
 * Calls under an Idempotency-Key. The row is made before the call runs; the key finds it, the fingerprint validates it.
 */
import type { StoredAnswer } from '../../ledger/types.ts'
import { type Engine, once, type Row, runOne, statement } from '../engine/engine.ts'
import type { Expired } from '../engine/expire.ts'
import { countOf, textOf } from '../engine/row.ts'
import { isSilent } from '../ledger/silence.ts'
import type { IdempotencyState, IdempotencyStore } from './idempotency-port.ts'

export const KEPT_MS = 24 * 60 * 60 * 1000

const headersOf = (text: string): Readonly<Record<string, string>> => {
  const parsed: unknown = JSON.parse(text)
  const entries = typeof parsed === 'object' && parsed !== null ? Object.entries(parsed) : []
  return Object.fromEntries(entries.map(([name, value]) => [name, String(value)]))
}

const answerOf = (row: Row): StoredAnswer => ({
  status: countOf(row, 'status'),
  headers: headersOf(textOf(row, 'headers')),
  body: textOf(row, 'body'),
})

const where = 'key_id = $1 and endpoint = $2 and idem_key = $3'

/**
 * Claims the key in one statement, or changes nothing. An abandoned claim with the same content is taken over under the
 * call id of its first attempt; one with other content only if nothing can have come of it.
 */
const claim = (now: string): string => {
  const expired = `idempotency.expires_at < ${now}`
  const same = 'idempotency.fingerprint in (excluded.fingerprint, $8)'
  const silent = `idempotency.state = 'running' and (idempotency.locked_until < ${now}
    or ${isSilent(now, 'idempotency.instance')})`
  return `insert into idempotency
      (key_id, endpoint, idem_key, fingerprint, state, call_id, instance, locked_until, expires_at)
    values ($1, $2, $3, $4, 'running', $5, $6, ${now} + cast($7 as bigint), ${now} + cast($7 as bigint) + ${KEPT_MS})
    on conflict (key_id, endpoint, idem_key) do update set fingerprint = excluded.fingerprint, state = 'running',
      call_id = case when ${same} and not (${expired}) then idempotency.call_id else excluded.call_id end,
      instance = excluded.instance, status = null, headers = null, body = null,
      locked_until = excluded.locked_until, expires_at = excluded.expires_at
    where ${expired} or idempotency.state = 'released' or (${same} and ${silent})
    returning call_id`
}

export const expiredAnswers = (now: string): Expired => ({
  table: 'idempotency',
  key: 'key_id, endpoint, idem_key',
  where: `x.expires_at < ${now}`,
})

export const idempotencyStore = (engine: Engine): IdempotencyStore => {
  const { now, lock } = engine.dialect
  const claimText = claim(now)
  return {
    begin: async ({ ref, fingerprint, fingerprintBefore = fingerprint, callId, instance, lockMs }) => {
      const id = [ref.keyId, ref.endpoint, ref.key]
      const mine = statement(claimText, ...id, fingerprint, callId, instance, lockMs, fingerprintBefore)
      const firstOf = ([row]: readonly Row[]): IdempotencyState | undefined =>
        row === undefined ? undefined : { state: 'first', callId: textOf(row, 'call_id') }
      // Most keys are new, and one statement needs no transaction.
      const first = firstOf(await once(engine, 'control', mine))
      if (first !== undefined) return first
      return engine.transaction('control', async (run): Promise<IdempotencyState> => {
        const late = firstOf(await runOne(run, mine))
        if (late !== undefined) return late
        const [row] = await run(`select i.* from idempotency i where ${where}${lock('i')}`, id)
        if (row === undefined) throw new Error('an idempotency row vanished while it was read')
        if (![fingerprint, fingerprintBefore].includes(textOf(row, 'fingerprint')))
          return { state: 'conflict' }
        if (textOf(row, 'state') === 'running') return { state: 'running', by: textOf(row, 'instance') }
        return { state: 'done', answer: answerOf(row), callId: textOf(row, 'call_id') }
      })
    },
    release: async ({ keyId, endpoint, key }, by) => {
      const text = `update idempotency set state = 'released' where ${where} and state = 'running' and instance = $4`
      await once(engine, 'control', text, keyId, endpoint, key, by)
    },
    kept: async ({ keyId, endpoint, key }, callId) => {
      const text = `select * from idempotency where ${where} and call_id = $4 and state = 'done'`
      return (await once(engine, 'control', text, keyId, endpoint, key, callId)).map(answerOf)[0]
    },
    forget: async ({ keyId, endpoint, key }, callId, by) => {
      const text = `delete from idempotency where ${where} and state = 'running' and instance = $4 and call_id = $5`
      await once(engine, 'control', text, keyId, endpoint, key, by, callId)
    },
  }
}
