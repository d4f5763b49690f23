/** What a line asks for, and the most that it can cost: the same before the batch begins and when the line is sent. */
import { type Ceiling, lowerOf } from '../../admission/ceiling.ts'
import type { Call } from '../../core/call.ts'
import { bodyOf, type JsonBody, readJsonBody } from '../../core/json-body.ts'
import type { Model } from '../../core/model.ts'
import { invalid, must } from '../../core/refusal.ts'
import type { AskedOfBatch, BatchForm } from '../../store/batches/batch-port.ts'
import type { Key } from '../../tenancy/key.ts'
import { readCall } from '../enter/incoming.ts'
import { rulesFor } from '../enter/rules.ts'
import { type Plan, planCall } from '../hold/reserve.ts'
import type { Gateway } from '../parts/gateway.ts'
import type { Trace } from '../parts/trace.ts'
import { forms } from './forms.ts'

type OfBatch = { readonly form: BatchForm; readonly asked: AskedOfBatch; readonly key: Key }

export type PlannedLine = {
  readonly customId: string
  readonly body: JsonBody
  readonly call: Call
  readonly model: Model
  readonly ceiling: Ceiling
  readonly plan: Plan
}

/** Members that name what only a call of its own can have. */
const alone = ['background', 'previous_response_id', 'conversation'] as const

/** Reads and prices a line. Throws the Refusal of what is wrong. */
export const planLine = async (
  gateway: Gateway,
  { form, asked, key }: OfBatch,
  line: { readonly n: number; readonly bytes: Uint8Array; readonly trace: Trace },
): Promise<PlannedLine> => {
  const { readLine, decode } = forms[form]
  const { n, trace } = line
  const read = must(readLine(must(readJsonBody(line.bytes)).value, n, asked))
  const named = alone.find((name) => (read.body[name] ?? false) !== false)
  if (named !== undefined) throw invalid(named, `'${named}' cannot be in a batch: leave it out.`)
  const body = bodyOf(read.body)
  const { call, model } = readCall(
    gateway,
    { decode: (sent, modelNamed) => decode(sent, asked, modelNamed) },
    { key, trace },
    body,
  )
  if (call.stream) throw invalid('stream', "A line is answered whole: leave 'stream' out.")
  const rules = rulesFor(gateway, key, model)
  const { perCallMax } = must(rules instanceof Promise ? await rules : rules)
  const ceiling = lowerOf(undefined, perCallMax)
  const plan = must(planCall(gateway, { call, model, ceiling }, model.maxOutputTokens))
  return { customId: read.customId, body, call, model, ceiling, plan }
}
