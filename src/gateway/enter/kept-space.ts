/** The space for answers that are kept for repeats: each key, and each wallet, may fill a limited one a day. */
import type { KeptBytes } from '../../admission/kept.ts'
import { refuse, retryIn } from '../../core/refusal.ts'
import type { IdempotencyRef } from '../../ledger/types.ts'
import type { Gateway } from '../parts/gateway.ts'
import type { Trace } from '../parts/trace.ts'

type KeptCall = { readonly ref: IdempotencyRef; readonly trace: Trace }

type Keeper = {
  readonly kept: KeptBytes
  readonly owner: string
  readonly most: number
  readonly who: string
}

/** Who the kept bytes are counted for: the key, and its wallet. */
const keepersOf = ({ memory, options }: Gateway, { ref, trace }: KeptCall): Keeper[] => {
  const own = { kept: memory.kept, owner: ref.keyId, most: options.keptBytesMax, who: 'This key has' }
  if (trace.key === undefined) return [own]
  return [
    own,
    {
      kept: memory.keptOfWallets,
      owner: trace.key.walletId,
      most: options.keptWalletBytesMax,
      who: 'The keys of this wallet have',
    },
  ]
}

/** Each may keep a limited number of bytes a day. An answer that a payment of its own bought is always kept. */
export const checkKept = (gateway: Gateway, it: KeptCall): void => {
  if (it.ref.endpoint === 'x402') return
  const nowMs = gateway.clock.monotonicMs()
  const full = keepersOf(gateway, it).find(({ kept, owner, most }) => kept.of(owner, nowMs) >= most)
  if (full === undefined) return
  const seconds = Math.max(1, Math.ceil(full.kept.leftMs(full.owner, nowMs) / 1000))
  throw refuse(
    'rate_limit_exceeded',
    `${full.who} used up the daily space for answers that are kept for repeats. Call without 'Idempotency-Key', or try again later.`,
    retryIn(seconds),
  )
}

/** Counts what is kept. */
export const noteKept = (gateway: Gateway, it: KeptCall, bytes: number): void => {
  const nowMs = gateway.clock.monotonicMs()
  for (const { kept, owner } of keepersOf(gateway, it)) kept.add(owner, bytes, nowMs)
}
