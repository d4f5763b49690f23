/** Seals events into their chain soon after they were committed, and signs its end every hour. */
import type { Log } from '../core/log.ts'
import { messageOf } from '../core/message-of.ts'
import { type Clock, HOUR_MS } from '../core/time.ts'
import { signHead } from '../receipts/event-chain.ts'
import type { ChainStore } from '../store/people/chain-store.ts'
import type { ReceiptKeys } from './parts/receipt-keys.ts'

type Parts = {
  readonly store: ChainStore
  readonly clock: Clock
  readonly log: Log
  /** Absent where receipts are off: then no end is signed. */
  readonly keys: ReceiptKeys | undefined
}

const EVERY_MS = 5_000

/** Seals all that waits, and signs the end if an hour has passed since the last one and something happened. */
export const sealAll = async ({ store, clock, keys }: Omit<Parts, 'log'>): Promise<void> => {
  while ((await store.seal()) > 0);
  const { seq, hash, signed, signedAt } = await store.end()
  const signer = keys?.signer()
  if (signer === undefined || seq === signed || clock.now() - signedAt < HOUR_MS) return
  await store.addHead(seq, signHead(signer, seq, hash, clock.now()))
}

/** Runs until the returned function is called. Several servers may do it at once. */
export const keepSealing = (parts: Parts, random: () => number): (() => void) => {
  let stopped = false
  const run = async (): Promise<void> => {
    while (!stopped) {
      await parts.clock.sleep(EVERY_MS * (0.5 + random()))
      if (stopped) return
      await sealAll(parts).catch((error: unknown) =>
        parts.log.warn('events could not be sealed', { error: messageOf(error) }),
      )
    }
  }
  void run()
  return () => {
    stopped = true
  }
}
