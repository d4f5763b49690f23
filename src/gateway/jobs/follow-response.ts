/** Reads the events of a response in the background as they are written, whichever process makes it. */
import { isObject, type Json, type JsonObject, parseJson } from '../../core/json-body.ts'
import { refuse } from '../../core/refusal.ts'
import { keepAlive } from '../../dialects/bill-members.ts'
import type { KeptForm } from '../../dialects/kept-form.ts'
import { keptFormOf } from '../../dialects/kept-forms.ts'
import type { ResponseRef } from '../../store/calls/background-port.ts'
import type { Answer, ByteStream } from '../parts/answer.ts'
import type { Gateway } from '../parts/gateway.ts'
import { newPace } from '../parts/patience.ts'

/** How often we look for events of another process, and how long a reader hears nothing at most. */
const LOOK_MS = 500
const SILENT_MS = 15_000

const encoder = new TextEncoder()

export const responseAnswer = (response: JsonObject): Answer => ({
  status: 200,
  headers: { 'content-type': 'application/json', 'cache-control': 'no-store' },
  body: encoder.encode(JSON.stringify(response)),
})

export const eventsAnswer = (body: ByteStream): Answer => ({
  status: 200,
  headers: { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' },
  body,
})

const written = ({ eventName }: KeptForm, text: string): string => {
  const event = parseJson(text)
  return `event: ${isObject(event) ? eventName(event) : 'message'}\ndata: ${text}\n\n`
}

/**
 * The events from number `from` on, until the response has ended; `done` is called once, when the reader has them, leaves,
 * or takes nothing for too long.
 */
export const followResponse = (
  gateway: Gateway,
  ref: ResponseRef,
  from: number,
  done: () => void = () => undefined,
): ByteStream => {
  const form = keptFormOf(ref.id)
  let next = from
  let open = true
  const pace = newPace()
  const end = (): IteratorResult<Uint8Array> => {
    if (!pace.over) done()
    gateway.memory.patience.end(pace)
    return { done: true, value: undefined }
  }
  const take = async (): Promise<IteratorResult<Uint8Array>> => {
    const spokenMs = gateway.clock.monotonicMs()
    while (open && !pace.over) {
      const changed = changedHere(gateway, ref.id)
      const read = await gateway.store.background.events(ref, next)
      open = read?.open === true
      if (read !== undefined && read.events.length > 0) {
        next += read.events.length
        return { done: false, value: encoder.encode(read.events.map((text) => written(form, text)).join('')) }
      }
      if (!open) break
      if (gateway.clock.monotonicMs() - spokenMs > SILENT_MS)
        return { done: false, value: encoder.encode(keepAlive) }
      await Promise.race([gateway.clock.sleep(LOOK_MS), ...changed])
    }
    return end()
  }
  const stream: ByteStream = {
    // A reader whom the ledger fails comes back with the number of its last event.
    next: async () => {
      pace.taken++
      pace.offered = false
      try {
        return await take()
      } catch (fault) {
        end()
        throw fault
      } finally {
        pace.offered = true
      }
    },
    return: async () => end(),
    [Symbol.asyncIterator]: () => stream,
  }
  // A reader that never begins is ended too.
  pace.offered = true
  gateway.memory.patience.watch(pace, end)
  return stream
}

const changedHere = ({ memory }: Gateway, id: string): readonly Promise<void>[] => {
  const here = memory.jobs.responses.get(id)
  return here === undefined ? [] : [here.changed.promise]
}

/** A response that was kept, as JSON; undefined if there is none. `open` while it is made. */
export const keptResponse = async (
  { store }: Gateway,
  { keyId, id }: ResponseRef,
): Promise<
  | {
      readonly response: JsonObject
      /** What was sent for it, one by one. */
      readonly input: () => Json
      readonly open: boolean
    }
  | undefined
> => {
  const kept = await store.responses.keptResponse(keyId, id)
  const body = kept === undefined ? undefined : parseJson(kept.body)
  if (kept === undefined || !isObject(body)) return undefined
  return {
    response: { ...body, [keptFormOf(id).output]: kept.output.flatMap((item) => parseJson(item) ?? []) },
    input: () => parseJson(kept.input) ?? [],
    open: kept.open,
  }
}

/** The same once it has ended, or as it stands after this time. */
export const awaitResponse = async (gateway: Gateway, ref: ResponseRef, waitMs: number) => {
  const untilMs = gateway.clock.monotonicMs() + waitMs
  for (;;) {
    const changed = changedHere(gateway, ref.id)
    const kept = await keptResponse(gateway, ref)
    const leftMs = untilMs - gateway.clock.monotonicMs()
    if (kept?.open !== true || leftMs <= 0) return kept
    await Promise.race([gateway.clock.sleep(Math.min(leftMs, LOOK_MS)), ...changed])
  }
}

/** A response that an earlier request with the same Idempotency-Key began, in the form that this one asks for. */
export const answerBegun = async (
  gateway: Gateway,
  ref: ResponseRef,
  { stream }: { readonly stream: boolean },
): Promise<Answer> => {
  if (stream) return eventsAnswer(followResponse(gateway, ref, 0))
  const kept = await keptResponse(gateway, ref)
  if (kept === undefined)
    throw refuse('not_found', 'The response was deleted, or has expired (RESPONSES_STORE).')
  return responseAnswer(kept.response)
}
