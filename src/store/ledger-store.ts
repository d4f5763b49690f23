/** The part of the store that moves money: grants, returns, group commits, postings, recovery, audit. */
import type { Nano } from '../core/money.ts'
import { auditOn } from './audit.ts'
import { type Engine, statement } from './engine.ts'
import { flushOn } from './flush.ts'
import { fold, lockMeters } from './fold.ts'
import { grantIn } from './grant.ts'
import type { LedgerStore } from './port.ts'
import { postOn } from './post.ts'
import { reapOn } from './reap.ts'

const giveBackOn = async (engine: Engine, lease: string, back: Nano): Promise<void> => {
  const { words } = engine
  const lock = words.locksRows
    ? [
        statement(`select l.id from lease l where l.id = $1${words.lock('l')}`, lease),
        ...lockMeters(words, lease),
      ]
    : []
  await engine.batch('control', [
    ...lock,
    ...fold(lease, -back, 'open'),
    statement(`update lease set recall = 0 where id = $1 and state = 'open'`, lease),
  ])
}

export const ledgerStore = (engine: Engine): LedgerStore => ({
  grant: (ask) => grantIn(engine, ask),
  giveBack: (lease, back) => giveBackOn(engine, lease, back),
  flush: flushOn(engine),
  post: (transfer) => postOn(engine, transfer),
  reap: (bounds) => reapOn(engine, bounds),
  audit: () => auditOn(engine),
})
