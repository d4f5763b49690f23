/**
 * Fences: an open lease takes no calls any more, and what no durable intent covers is free at once, since a call without
 * one was never answered. Its open calls end as they would have.
 */
import type { KeyId } from '../tenancy/key.ts'
import type { Row, Run, Words } from './engine.ts'
import { fold, lockMeters } from './fold.ts'
import { nanoOf, onlyRow, textOf } from './row.ts'

/** Moves what a lease has used, and changes what it holds by `delta`, under its locks. */
export const foldNow = async (run: Run, id: string, delta: bigint, state: string): Promise<void> => {
  await Promise.all(fold(id, delta, state).map(({ text, params }) => run(text, params)))
}

/** Fences one open lease that is locked with its meters; with no call open it is closed. */
export const fence = async (run: Run, lease: Row): Promise<'quarantined' | 'closed'> => {
  const id = textOf(lease, 'id')
  const open = onlyRow(
    await run(
      'select cast(count(*) as bigint) as calls, coalesce(cast(sum(hold) as bigint), 0) as held from inflight where lease_id = $1',
      [id],
    ),
  )
  await foldNow(run, id, nanoOf(open, 'held') - (nanoOf(lease, 'granted') - nanoOf(lease, 'used')), 'open')
  const state = nanoOf(open, 'calls') === 0n ? 'closed' : 'quarantined'
  await run('update lease set state = $2, recall = 0 where id = $1', [id, state])
  return state
}

/**
 * Fences all open leases of keys that are locked. A process that does not know yet that they are revoked, because it
 * was paused for example, then finds no lease for its calls' intents, whatever its clock says.
 */
export const fenceLeasesOf = async (run: Run, words: Words, keys: readonly KeyId[]): Promise<void> => {
  const leases = await run(
    `select l.* from lease l where l.key_id in (select e.value->>'k' from ${words.each('$1')} e) and l.state = 'open'
     order by l.id${words.lock('l')}`,
    [JSON.stringify(keys.map((k) => ({ k })))],
  )
  if (leases.length === 0) return
  const ids = leases.map((lease) => textOf(lease, 'id'))
  for (const { text, params } of lockMeters(words, ids)) await run(text, params)
  for (const lease of leases) await fence(run, lease)
}
