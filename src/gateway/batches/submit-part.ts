/** Writes lines as calls of their vendor and submits them in one part, once. */
import { messageOf } from '../../core/message-of.ts'
import { must, type Refusal } from '../../core/refusal.ts'
import { requestedRestOf } from '../../routing/failed-attempt.ts'
import { comeBackIn, judgeVendorError, vendorDown } from '../../routing/vendor-errors.ts'
import type { SentLine } from '../../store/batches/batch-port.ts'
import type { Key } from '../../tenancy/key.ts'
import type { NewPart } from '../../vendors/batches/vendor-batch.ts'
import { refusalFor } from '../answer/refusal-for.ts'
import { codecOf } from '../ask/ask-vendor.ts'
import { askStep } from '../jobs/vendor-step.ts'
import { countedFor } from '../parts/capacity.ts'
import type { Gateway } from '../parts/gateway.ts'
import { newTrace } from '../parts/trace.ts'
import { type AskedPart, PART_AGAIN_MS, stepOf } from './ask-part.ts'
import { pathOn } from './part-place.ts'
import { planLine } from './plan-line.ts'
import { endOf } from './run-line.ts'
import { tidyPart } from './tidy-part.ts'

const TURN_MS = 5
/** A file before the batch, looks at it until it can be used, and the batch. */
const STEPS_MOST = 30

type Submission = AskedPart & {
  readonly key: Key
  readonly lines: readonly SentLine[]
}

type Written = { readonly calls: NewPart['calls']; readonly headers: Readonly<Record<string, string>> }

/** `ended`: no line of it is at the vendor. Else the vendor has it, or may have it. */
export const submitPart = async (gateway: Gateway, of: Submission): Promise<'submitted' | 'ended'> => {
  const { form, at, it, part } = of
  const { calls, headers } = await written(gateway, of)
  if (calls.length === 0) return 'ended'
  const { upstreamName } = at.model
  const { named = '', bucket } = of
  const sent: NewPart = { id: part.id, path: pathOn(part.route), upstreamName, named, bucket, calls }
  const refusal = await countedFor(gateway.capacity, it.batch.keyId, async (taken) => {
    const step = stepOf(of, taken)
    let outgoing = form.submit(sent)
    for (let n = 0; n < STEPS_MOST; n++) {
      const answer = await askStep(gateway, step, { ...outgoing, headers })
      const read = form.readSubmitted(answer, sent, n)
      if (typeof read === 'string') return begun(gateway, of, read)
      if (read !== undefined) {
        outgoing = read.next
        if (read.pauseMs !== undefined) await gateway.clock.sleep(read.pauseMs)
      } else if (answer.status >= 400 && answer.status < 500) return refusalIn(gateway, of, answer)
      else break
    }
    // Whether the vendor has it will be asked.
    return undefined
  }).catch((error: unknown) => {
    gateway.log.warn('a part of a batch may not have been submitted', {
      call: part.id,
      error: messageOf(error),
    })
    return undefined
  })
  if (refusal === undefined) return 'submitted'
  const open = new Set(calls.map(({ id }) => id))
  const refused = of.lines.filter(({ callId }) => open.has(callId))
  await Promise.all(refused.map((line) => it.endLine(endOf(refusal, line, PART_AGAIN_MS))))
  return 'ended'
}

/** The vendor has it under this name. If others gave it up meanwhile, it is cancelled there. */
const begun = async (gateway: Gateway, of: Submission, ref: string): Promise<undefined> => {
  const { form, it, part } = of
  part.ref = ref
  if (await gateway.store.batches.namePart(part.id, ref)) return
  gateway.log.warn('a part of a batch was submitted too late', { call: part.id })
  await countedFor(gateway.capacity, it.batch.keyId, (taken) =>
    askStep(gateway, stepOf(of, taken), form.cancel(ref)),
  )
  await tidyPart(gateway, of)
}

const refusalIn = (
  { clock }: Gateway,
  { form, at: { setup, secret } }: AskedPart,
  { status, header, bytes }: Awaited<ReturnType<typeof askStep>>,
): Refusal => {
  if (form.refusesParts) return vendorDown(setup.vendor.id, status)
  const answer = { status, retryAfter: header('retry-after') ?? null, body: bytes }
  const failed = judgeVendorError(answer, setup.vendor.id, {
    secret: secret?.reveal(),
    now: clock.now(),
  })
  return comeBackIn(failed.refusal, requestedRestOf(failed))
}

/** The lines as calls of their vendor. Those that cannot be sent now end. */
const written = async (gateway: Gateway, of: Submission): Promise<Written> => {
  const { clock } = gateway
  const { form: vendors, at, it, key, lines, named = '' } = of
  const { form, asked } = it.batch
  const calls: { id: string; body: Uint8Array }[] = []
  let headers = {}
  let turnMs = clock.monotonicMs()
  for (const line of lines) {
    const { n, callId, route } = line
    const trace = newTrace(callId, clock.monotonicMs())
    try {
      const planned = await planLine(
        gateway,
        { form, asked, key },
        { n, bytes: await it.read(line), trace, route },
      )
      const codec = must(codecOf(at, gateway, { ...planned, key, trace }))
      calls.push({ id: callId, body: vendors.inPart?.(codec.body, named) ?? codec.body })
      headers = { ...headers, ...codec.headers }
    } catch (thrown) {
      await it.endLine(endOf(refusalFor(gateway, trace, thrown), line))
    }
    if (clock.monotonicMs() - turnMs < TURN_MS) continue
    await clock.turn()
    turnMs = clock.monotonicMs()
  }
  return { calls, headers }
}
