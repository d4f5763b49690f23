/**
 * Seals events into their chain soon after they were committed, and signs its end every hour; and adds what was charged to the
 * log of receipts, whose end is signed each time.
 */
import { type Log, warning } from '../core/log.ts'
import { about, type Clock, HOUR_MS, inRounds } from '../core/time.ts'
import { signChainHead } from '../receipts/event-chain.ts'
import { signLogHead } from '../receipts/log-head.ts'
import type { LogStore } from '../store/log/log-port.ts'
import type { ChainStore } from '../store/people/chain-store.ts'
import type { ReceiptKeys } from './parts/receipt-keys.ts'
import type { LogWatch } from './watch-log.ts'

type Parts = {
  readonly store: ChainStore
  readonly clock: Clock
  readonly log: Log
  /** Absent where receipts are off: then no end is signed. */
  readonly keys: ReceiptKeys | undefined
}

type LogParts = Pick<Parts, 'keys'> & {
  readonly receipts: LogStore
  /** What was shown of the log before; absent in tools that show nothing. */
  readonly shown?: LogWatch | undefined
}

const EVERY_MS = 5_000
/** Every so often also the log of receipts: it asks for the next posting of each key. */
const LOG_EVERY = 6

/** Seals all that waits, and signs the end if an hour has passed since the last one and something happened. */
export const sealAll = async ({ store, clock, keys }: Omit<Parts, 'log'>): Promise<void> => {
  while ((await store.seal()) > 0);
  const { seq, hash, signed, signedAt } = await store.end()
  const signer = keys?.signer()
  if (signer === undefined || seq === signed || clock.now() - signedAt < HOUR_MS) return
  await store.addHead(seq, signChainHead(signer, seq, hash, clock.now()))
}

/** Adds to the log of receipts all that is settled; its end is signed only if it goes on from what was shown. */
export const growLog = async ({ receipts, keys, shown }: LogParts): Promise<void> => {
  const signer = keys?.signer()
  if (signer === undefined) return
  for (let more = true; more; ) {
    await shown?.look(receipts)
    if (shown?.isAnother() === true) return
    more = await receipts.grow((end, from) =>
      shown?.maySign(from) === false ? '' : signLogHead(signer, end),
    )
  }
  await shown?.look(receipts)
}

/** Runs until the returned function is called. Several servers may do it at once. */
export const keepSealing = (parts: Parts & LogParts, random: () => number): (() => void) => {
  const { clock, log } = parts
  let round = 0
  const failed = 'the log of receipts could not be continued'
  return inRounds({ clock, log, pauseMs: about(EVERY_MS, random), waits: true, failed }, async () => {
    await sealAll(parts).catch(warning(log, 'events could not be sealed'))
    if (++round % LOG_EVERY === 0) await growLog(parts)
  })
}
