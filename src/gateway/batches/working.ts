/** A batch that this process runs, with what its lines share: the key that pays, and how long money is waited for. */
import { checkEnabled, unknownKey } from '../../admission/caller.ts'
import { must, Refusal } from '../../core/refusal.ts'
import { monthOf } from '../../core/time.ts'
import type { Batch, BatchPart, TakenLines, TendedBatch } from '../../store/batches/batch-port.ts'
import type { Key } from '../../tenancy/key.ts'
import { usableLater } from '../enter/key-bounds.ts'
import type { Gateway } from '../parts/gateway.ts'
import type { EndLine } from './line-ends.ts'
import type { ReadLine } from './read-lines.ts'

/** How long a batch waits for money that other calls hold before its waiting lines are given up. */
const MONEY_MS = 60_000

/** Lines that their vendor has in a batch of its own, as this process goes on with them. */
export type Part = BatchPart & {
  ref?: string
  /** When it is asked for next, and since when this process asks. */
  dueMs: number
  readonly sinceMs: number
  /** How often in a row the vendor did not know it. */
  missing: number
  /** How often its results were read to the end, and lacked some. */
  reads: number
  cancelled: boolean
  /** The pause before lines without a result are sent again; it doubles. */
  readonly againMs: number
}

/** What is open while parts are looked at. */
export const PARTS = 'parts'

export type Working = {
  batch: TendedBatch
  /** It is no longer this process's. */
  lost: boolean
  /** It has ended. */
  over: boolean
  /** Whether this process knows which lines are open: not before it took the batch over, nor after an answer was lost. */
  knows: boolean
  /** The calls of lines that this process runs or may just have opened; and `PARTS` while it looks at those that vendors have. */
  readonly open: Set<string>
  readonly endLine: EndLine
  /** Reads lines one after the other, or any one. */
  readonly read: ReadLine
  readonly readOne: ReadLine
  /** Resolves when one of its lines has ended. */
  ended: PromiseWithResolvers<void>
  /** The ways that its lines go, and for each of them since when there has been no money for its next line. */
  routes: readonly string[]
  readonly shortMs: Map<string, number>
  readonly parts: Map<string, Part>
}

/** The key as it may be used now, or why it may not. */
export const keyOf = async (gateway: Gateway, { keyId, walletId }: Batch): Promise<Key | Refusal> => {
  const { clock, book } = gateway
  try {
    const key = must(await book.callerById(keyId))
    if (key === undefined) return unknownKey()
    const suspended = must(await book.rules(walletId)).suspended
    const refusal = checkEnabled(key, monthOf(clock.now()))
    if (refusal) return refusal
    return suspended === undefined
      ? await usableLater(gateway, key)
      : new Refusal('account_suspended', suspended)
  } catch (thrown) {
    // While the ledger is away nobody knows.
    if (thrown instanceof Refusal && thrown.code !== 'service_unavailable') return thrown
    throw thrown
  }
}

/** Stops a batch whose key may not be used. One whose organisation is elsewhere, or about to leave, goes on there. */
export const stopFor = async ({ store }: Gateway, it: Working, { code }: Refusal): Promise<void> => {
  // Its calls wait for it, so it is let go before the next look says so.
  if (code === 'moving') it.batch = { ...it.batch, leaves: true }
  else if (code !== 'moved') await store.batches.stop(it.batch.id, code)
}

/** Notes what came of looking for the next lines: money that is short may come back, from open lines or other calls. */
export const noteMoney = async (
  gateway: Gateway,
  { batch, shortMs }: Working,
  route: string,
  { refused, sent }: TakenLines,
): Promise<void> => {
  if (refused === undefined) {
    shortMs.delete(route)
    return
  }
  const nowMs = gateway.clock.monotonicMs()
  const sinceMs = shortMs.get(route) ?? nowMs
  shortMs.set(route, sinceMs)
  if (sent > 0) return
  const { outcome, held } = refused
  const gone = outcome === 'held' ? held <= 0n : outcome !== 'recall'
  if (!gone && nowMs - sinceMs < MONEY_MS) return
  const codes: Readonly<Record<string, string>> = { disabled: 'key_disabled', unknown_key: 'invalid_api_key' }
  await gateway.store.batches.stop(batch.id, codes[outcome] ?? 'insufficient_credit')
}
