/** A response in the background while it is made: the events of its stream, and how it ends. */
import { isObject, type JsonObject } from '../../core/json-body.ts'
import type { Refusal } from '../../core/refusal.ts'
import type { BackgroundEnd, ResponseRef } from '../../store/calls/background-port.ts'
import { keptOutput } from '../enter/conversation.ts'
import type { OpenResponse } from '../parts/jobs.ts'

/** How it begins; one that is taken over has events already. */
type Beginning = Pick<OpenResponse, 'form' | 'head' | 'streams'> & {
  readonly stop?: AbortController
  readonly written?: number
}

export const openResponse = (ref: ResponseRef, beginning: Beginning): OpenResponse => ({
  stop: new AbortController(),
  written: 0,
  ...beginning,
  ref,
  pending: [],
  ended: undefined,
  changed: Promise.withResolvers(),
})

/** Numbers an event of its stream, and leaves it to be written. */
export const addEvent = (open: OpenResponse, event: JsonObject): void => {
  const { form, head, written, pending } = open
  const named = Object.entries(event).map(([name, value]) => [
    name,
    isObject(value) && (name === 'response' || name === 'interaction') ? form.named(value, head) : value,
  ])
  pending.push(JSON.stringify(form.numbered(Object.fromEntries(named), written + pending.length)))
}

/** Notes how it ended; the first end counts. */
export const endResponse = (open: OpenResponse, response: JsonObject, continues: boolean): void => {
  open.ended ??= { response, continues }
}

/** Ends it without an answer. A stream says so by its last event. */
export const endUnmade = (
  open: OpenResponse,
  status: 'failed' | 'cancelled',
  reason?: Pick<Refusal, 'code' | 'message'>,
): void => {
  if (open.ended !== undefined) return
  const error = reason === undefined ? null : { code: reason.code, message: reason.message }
  const response = open.form.unmade(open.head, status, error)
  if (open.streams) addEvent(open, open.form.ended(response))
  open.ended = { response, continues: false }
}

/** Wakes everyone who waits for news of it. */
export const wakeReaders = (open: OpenResponse): void => {
  const { resolve } = open.changed
  open.changed = Promise.withResolvers()
  resolve()
}

/** Its end as it is written. */
export const writtenEnd = ({ form, ref, written, pending, ended, head }: OpenResponse): BackgroundEnd => {
  const { [form.output]: output, ...body } = ended?.response ?? head
  return {
    ...ref,
    place: written,
    events: pending,
    body: JSON.stringify(body),
    output: keptOutput(output),
    continues: ended?.continues === true,
  }
}
