/**
 * Lines of a batch are sent behind all other calls, and the next ones take the places of those that end in the same
 * transaction: a commit costs about the same for both as for one.
 */
import type { Assets } from '../../assets/assets.ts'
import { messageOf } from '../../core/message-of.ts'
import { Refusal } from '../../core/refusal.ts'
import { newId } from '../../core/time.ts'
import type { CallId } from '../../ledger/types.ts'
import type { LineEnd, TakenLines } from '../../store/batches/batch-port.ts'
import type { Key } from '../../tenancy/key.ts'
import type { Present } from '../parts/gateway.ts'
import type { BehindCalls } from './behind-calls.ts'
import { nextPlaceOn } from './part-place.ts'
import { runLine } from './run-line.ts'
import { keyOf, noteMoney, stopFor, type Working } from './working.ts'

/** A look costs the ledger about the same for one line as for several. */
const TAKE_LEAST = 8

export type Keeping = {
  readonly present: Present
  readonly assets: Assets
  readonly working: Map<string, Working>
  readonly behind: BehindCalls
  /** Lines at vendors, of all batches. */
  open: number
  /** No line starts here any more; those that are open end. */
  stopped: boolean
  /** Its batches are left to others. */
  left: boolean
}

/** Sends the next lines that go this way. Undefined if the batch is not to be sent by this process. */
export const sendOn = async (
  keeping: Keeping,
  it: Working,
  { route, most }: { readonly route: string; readonly most: number },
): Promise<TakenLines | undefined> => {
  const { gateway } = keeping.present
  const { store, instance } = gateway
  const { id } = it.batch
  await keeping.behind.step()
  const key = await keyOf(gateway, it.batch)
  const stops = key instanceof Refusal
  if (stops) await stopFor(gateway, it, key)
  const { taken } = await opening(keeping, it, stops ? 0 : most, async (callIds) => ({
    taken: await store.batches.take(id, { owner: instance, callIds, route }),
  }))
  if (!stops) void sendAll(keeping, it, key, taken)
  if (taken !== undefined) await noteMoney(gateway, it, route, taken)
  return taken
}

/** Ends lines, and sends the next ones in their places. */
export const endAndSend = async (
  keeping: Keeping,
  it: Working,
  ends: readonly LineEnd[],
): Promise<ReadonlySet<CallId>> => {
  const { gateway } = keeping.present
  const { store, instance } = gateway
  const { id } = it.batch
  const route = it.routes.find((one) => nextPlaceOn(gateway, one) === undefined)
  const most = placesOf(keeping, it, ends)
  if (route === undefined || most === 0) return store.batches.end(id, ends)
  const key = await keyOf(gateway, it.batch)
  if (key instanceof Refusal) return store.batches.end(id, ends)
  const { ended, taken } = await opening(keeping, it, most, (callIds) =>
    store.batches.endAndTake(id, ends, { owner: instance, callIds, route }),
  )
  void sendAll(keeping, it, key, taken)
  return ended
}

/** Opens up to so many lines. While it is not known which ones, they count as open, and nobody else sends them. */
const opening = async <Opened extends { readonly taken: TakenLines | undefined }>(
  keeping: Keeping,
  it: Working,
  most: number,
  open: (callIds: readonly CallId[]) => Promise<Opened>,
): Promise<Opened> => {
  const callIds = Array.from({ length: most }, () => newId())
  for (const callId of callIds) it.open.add(callId)
  keeping.open += most
  let count = 0
  try {
    const opened = await open(callIds)
    count = opened.taken?.lines.length ?? 0
    return opened
  } catch (error) {
    // Lines may have been opened, and only the answer was lost.
    it.knows = false
    throw error
  } finally {
    for (const callId of callIds.slice(count)) leave(keeping, it, callId)
  }
}

const leave = (keeping: Keeping, it: Working, callId: CallId): void => {
  keeping.open--
  it.open.delete(callId)
}

/** Whether lines may start now: behind all calls that somebody waits for. */
const mayStart = (keeping: Keeping): boolean => {
  const { book, options, capacity } = keeping.present.gateway
  const { openCalls, fresh, draining } = book.health()
  if (keeping.stopped || draining || capacity.draining || !fresh) return false
  return openCalls < options.discountOpenMax
}

/** How many lines may start now: several at a time. */
export const roomFor = (keeping: Keeping): number => {
  if (!mayStart(keeping)) return 0
  const room = keeping.present.gateway.options.batchLinesOpen - keeping.open
  return room < Math.min(TAKE_LEAST, keeping.open + room) ? 0 : Math.min(keeping.behind.lines(), room)
}

/** How many lines may take the places of those that end. A batch beside others so has no more than its share. */
const placesOf = (keeping: Keeping, { open, lost }: Working, ends: readonly LineEnd[]): number => {
  if (lost || !mayStart(keeping)) return 0
  const leaving = ends.filter(({ callId }) => open.has(callId)).length
  const most = keeping.present.gateway.options.batchLinesOpen
  const share = Math.ceil(most / keeping.working.size) - open.size
  return Math.max(0, Math.min(keeping.behind.lines(), leaving + Math.min(share, most - keeping.open)))
}

/** Starts lines a few at a time: the loop is left to calls between them. */
const sendAll = async (
  keeping: Keeping,
  it: Working,
  key: Key,
  taken: TakenLines | undefined,
): Promise<void> => {
  const { behind } = keeping
  for (const [at, line] of (taken?.lines ?? []).entries()) {
    void send(keeping, it, { key, line })
    if ((at + 1) % behind.starts() === 0) await behind.step()
  }
}

type Sending = Pick<Parameters<typeof runLine>[1], 'key' | 'line'>

const send = async (keeping: Keeping, it: Working, sending: Sending): Promise<void> => {
  const { gateway } = keeping.present
  const { batch, read } = it
  const { line } = sending
  await runLine(gateway, { batch, read, ...sending }, it.endLine).catch((error: unknown) =>
    gateway.log.error('a line of a batch failed', { call: line.callId, error: messageOf(error) }),
  )
  leave(keeping, it, line.callId)
  it.ended.resolve()
  it.ended = Promise.withResolvers()
}
