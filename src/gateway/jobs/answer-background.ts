/**
 * A response in the background (`background: true`). It is a call like any other, with the same hold, charge and receipt;
 * only its caller does not wait. The row of the response is written before the vendor is asked; what comes is written as it
 * comes (keep-background.ts), and read by whoever asks, at any process.
 */
import { isObject, type JsonObject, parseJson } from '../../core/json-body.ts'
import { type Refusal, refuse } from '../../core/refusal.ts'
import { placeOf } from '../../tenancy/key.ts'
import { eventSplitter } from '../../transport/event-stream.ts'
import { giveUp } from '../answer/give-up.ts'
import { refusalFor } from '../answer/refusal-for.ts'
import { CallerGone } from '../ask/attempt.ts'
import { responseIn } from '../enter/conversation.ts'
import type { Answer } from '../parts/answer.ts'
import type { Gateway } from '../parts/gateway.ts'
import type { OpenResponse } from '../parts/jobs.ts'
import type { Background, Memory, Task } from '../parts/task.ts'
import { endStream } from '../parts/trace.ts'
import { eventsAnswer, followResponse, responseAnswer } from './follow-response.ts'
import { tendResponses } from './keep-background.ts'
import { addEvent, endResponse, endUnmade, openResponse } from './open-response.ts'

/** Events that may wait to be written; more make the vendor wait. */
const PENDING_MOST = 1_000

type Later = {
  readonly memory: Memory
  readonly asked: Background
  /** How the call is answered when its caller waits. */
  readonly direct: (gateway: Gateway, task: Task) => Promise<Answer>
}

/** Answers that the response is queued, or with its stream, and makes it. */
export const answerInBackground = async (gateway: Gateway, task: Task, later: Later): Promise<Answer> => {
  const { store, options, instance } = gateway
  const { key, trace, keep } = task
  const { asked, memory } = later
  const queued = memory.form.queued({
    callId: trace.callId,
    created: Math.floor(gateway.clock.now() / 1000),
    modelName: task.call.modelName,
    request: task.call.body.value,
    kept: memory,
  })
  const ref = { keyId: placeOf(key), id: String(queued.id) }
  const head = { ...queued, status: 'in_progress' }
  const open = openResponse(ref, { form: memory.form, head, stop: asked.stop, streams: asked.stream })
  if (open.streams) for (const event of memory.form.begun(queued)) addEvent(open, event)
  const begun = {
    ...ref,
    callId: trace.callId,
    owner: instance,
    previousId: asked.previous,
    input: JSON.stringify(asked.own),
    body: JSON.stringify(head),
    events: open.pending,
    claim: keep?.ref,
  }
  await store.background.begin(begun, options.responsesKeptMs).catch(async (fault: unknown) => {
    await giveUp(gateway, task)
    // The ledger may have it all the same: then nobody else knows that it is not made.
    endUnmade(open, 'failed', refuse('upstream_error', 'The ledger did not confirm it, so it was not made.'))
    tendResponses(gateway, open)
    throw fault
  })
  open.written = open.pending.length
  open.pending = []
  tendResponses(gateway, open)
  trace.background = true
  void make(gateway, task, open, later)
  return open.streams
    ? eventsAnswer(followResponse(gateway, ref, 0, () => trace.onRead?.()))
    : responseAnswer(queued)
}

/** Runs the call to its end, whatever that is. */
const make = async (
  gateway: Gateway,
  task: Task,
  open: OpenResponse,
  { memory, direct }: Later,
): Promise<void> => {
  const { trace } = task
  let said: JsonObject | undefined
  let refusal: Refusal | undefined
  const keep = async (answer: string) => {
    said = responseIn(answer)
    await memory.keep(answer)
  }
  try {
    // A repeat reads the response as it is then, so no answer is kept for it.
    const answer = await direct(gateway, { ...task, keep: undefined, memory: { ...memory, keep } })
    if (!(answer.body instanceof Uint8Array)) {
      const failed = await record(open, answer.body)
      if (!open.stop.signal.aborted) said ??= failed
    }
  } catch (thrown) {
    refusal = thrown instanceof CallerGone ? undefined : refusalFor(gateway, trace, thrown)
    trace.ended = refusal?.code ?? 'client_gone'
  }
  const continues = said?.status !== 'failed' && memory.conversation === undefined
  if (said !== undefined) endResponse(open, open.form.named(said, open.head), continues)
  else if (open.stop.signal.aborted) endUnmade(open, 'cancelled')
  else endUnmade(open, 'failed', refusal ?? refuse('upstream_error', 'The response broke off.'))
  if (trace.over !== true) endStream(trace)
}

/** Records the events of a stream; returns the response with which a failed one ended. */
const record = async (
  open: OpenResponse,
  body: AsyncIterable<Uint8Array>,
): Promise<JsonObject | undefined> => {
  const splitter = eventSplitter()
  let failed: JsonObject | undefined
  for await (const piece of body) {
    for (const { data } of splitter.feed(piece)) {
      const event = parseJson(data)
      // That it was created is said already.
      if (!isObject(event) || open.form.begins(event) || open.ended !== undefined) continue
      const how = open.form.failedIn(event)
      if (how !== undefined && open.stop.signal.aborted) continue
      failed = how ?? failed
      addEvent(open, event)
    }
    while (open.pending.length > PENDING_MOST && open.ended === undefined) await open.changed.promise
  }
  return failed
}
