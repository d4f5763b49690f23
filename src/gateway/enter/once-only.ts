/**
 * Idempotency: the same call under the same key runs once. A repeat that arrives while the call runs joins the running
 * answer, stream or not. A later repeat gets the stored answer. Another body under the same key is refused.
 * Source of the header: IETF draft-ietf-httpapi-idempotency-key-header.
 */
import { canonicalJson } from '../../core/canonical.ts'
import type { JsonBody } from '../../core/json-body.ts'
import { invalid, must, Refusal, refuse, retryIn } from '../../core/refusal.ts'
import { type CallId, callOfJob, type IdempotencyRef, isJob, type StoredAnswer } from '../../ledger/types.ts'
import type { Claim } from '../../store/calls/idempotency-port.ts'
import { type Key, placeOf } from '../../tenancy/key.ts'
import type { Answer, ByteStream } from '../parts/answer.ts'
import type { Gateway } from '../parts/gateway.ts'
import { type Keep, keepIn, newRecording, type Recording } from '../parts/recording.ts'
import type { RunningCall } from '../parts/repeats.ts'
import { endStream, type Trace } from '../parts/trace.ts'
import { checkKept, noteKept } from './kept-space.ts'

type Repeatable = {
  readonly incoming: {
    readonly endpoint: string
    readonly maxCostUsd: string | undefined
    readonly requires?: string | undefined
  }
  readonly idempotencyKey: string
  readonly key: Key
  readonly body: JsonBody
  readonly trace: Trace
}

/** Runs the call and keeps its answer. */
export type RunCall = (keep: Keep, signal: AbortSignal) => Promise<Answer>

const REPLAYED = { 'idempotent-replayed': 'true' }
const POLL_MS = 250
const WAIT_MS = 30_000
const LET_GO_MS = 1_000
const LET_GO_TRIES = 30

export const onceOnly = async (
  gateway: Gateway,
  repeatable: Repeatable,
  run: RunCall,
  ofRun: OfRun,
): Promise<Answer> => {
  const { incoming, key, body, trace } = repeatable
  const ref = {
    keyId: placeOf(key),
    endpoint: incoming.endpoint,
    key: must(readIdempotencyKey(repeatable.idempotencyKey)),
  }
  const { hash } = gateway
  const asked = incoming.requires === undefined ? [] : [incoming.requires]
  const same = canonicalJson([body.value, incoming.maxCostUsd ?? null, ...asked])
  const once = { ref, fingerprint: hash(same), fingerprintBefore: hash.before?.(same), trace, ofRun }
  return onceUnder(gateway, once, run)
}

type OfRun = (callId: CallId, ref: IdempotencyRef) => Promise<Answer>

type Once = {
  /** Answers for a call that is a job: its answer is the job's, whichever process looks after it. */
  readonly ofRun?: OfRun
  readonly ref: IdempotencyRef
  readonly fingerprint: string
  /** The same, under the server's previous secret. */
  readonly fingerprintBefore?: string | undefined
  readonly trace: Trace
  /** Claims the name together with more, where nothing is known of it; false where it was not done. */
  readonly begin?: ((claim: Claim) => Promise<boolean>) | undefined
  /** Whether the thrown value means that nothing was done, so that the claim need not be kept. */
  readonly idle?: (thrown: unknown) => boolean
  /** Throws when the stored answer of the trace's call may not be given again. */
  readonly checkRepeat?: () => Promise<void>
}

/** Runs a request once under its reference; the answer is kept, joined and replayed. */
export const onceUnder = async (gateway: Gateway, it: Once, run: RunCall): Promise<Answer> => {
  const { ref, fingerprint, trace } = it
  const name = JSON.stringify([ref.keyId, ref.endpoint, ref.key])
  const running = gateway.memory.repeats.get(name)
  if (running !== undefined) return join(running, fingerprint, trace)
  // Registered before anything is awaited, so that two copies that arrive together make one call.
  const owner = trace.keyId ?? ref.keyId
  const recording = newRecording({
    take: (bytes) => gateway.capacity.bytes.take(owner, bytes) === 'taken',
    giveBack: (bytes) => gateway.capacity.bytes.giveBack(owner, bytes),
    patience: gateway.memory.patience,
  })
  const answer = first(gateway, { ...it, recording }, run)
  gateway.memory.repeats.set(name, { fingerprint, recording, trace, answer })
  const forget = () => gateway.memory.repeats.delete(name)
  try {
    const begun = await answer
    if (begun.body instanceof Uint8Array) forget()
    else void finished(recording).then(forget)
    return begun.body instanceof Uint8Array ? begun : { ...begun, body: recording.read() }
  } catch (refusal) {
    forget()
    throw refusal
  }
}

/** Reads the header; 1 to 255 printable ASCII characters. */
export const readIdempotencyKey = (header: string): string | Refusal =>
  /^[\x21-\x7e](?:[\x20-\x7e]{0,253}[\x21-\x7e])?$/.test(header)
    ? header
    : invalid(
        'Idempotency-Key',
        "'Idempotency-Key' must be 1 to 255 printable ASCII characters, such as a UUID.",
      )

const join = async (running: RunningCall, fingerprint: string, trace: Trace): Promise<Answer> => {
  if (running.fingerprint !== fingerprint) throw keyReused()
  const answer = await running.answer
  trace.callId = running.trace.callId
  trace.ended = 'joined'
  return {
    ...answer,
    headers: { ...answer.headers, ...REPLAYED },
    body: answer.body instanceof Uint8Array ? answer.body : running.recording.read(() => endStream(trace)),
  }
}

/** Answers that are not text are stored in base64. */
export const bytesOf = ({ headers, body }: Pick<StoredAnswer, 'headers' | 'body'>): Uint8Array =>
  /^(?:application\/(?:json|x-ndjson)|text\/)/.test(headers['content-type'] ?? '')
    ? new TextEncoder().encode(body)
    : Buffer.from(body, 'base64')

type First = Once & { readonly recording: Recording }

/** Claims the key and runs the call to its end, even if its caller leaves: a retry will ask for the answer. */
const first = async (gateway: Gateway, it: First, run: RunCall): Promise<Answer> => {
  const proposed = it.trace.callId
  const claimed = await claim(gateway, it)
  if (typeof claimed === 'object' && 'run' in claimed) {
    it.trace.callId = claimed.run
    const answer = await (it.ofRun?.(claimed.run, it.ref) ?? Promise.reject(stillRunning()))
    it.trace.ended = 'replayed'
    if (!(answer.body instanceof Uint8Array))
      void readAlong(gateway, it, answer.body).then(() => endStream(it.trace))
    return { ...answer, headers: { ...answer.headers, ...REPLAYED } }
  }
  if (typeof claimed !== 'string') {
    // Checked here and not by the caller, because others may join the answer that is repeated.
    if (claimed.status === NOT_KEPT) throw notKept()
    await it.checkRepeat?.()
    it.trace.ended = 'replayed'
    return {
      status: claimed.status,
      headers: { ...claimed.headers, ...REPLAYED },
      body: bytesOf(claimed),
    }
  }
  it.trace.callId = claimed
  try {
    checkKept(gateway, it)
    const answer = await run(keepIn(it.ref, it.recording), new AbortController().signal)
    if (answer.body instanceof Uint8Array) noteKept(gateway, it, answer.body.length)
    else if (it.trace.background === true) void readAlong(gateway, it, answer.body)
    else void pump(gateway, it, answer.body)
    return answer
  } catch (refusal) {
    // Nothing was charged, so the next attempt runs again. If the release is lost, the claim ends with this process. A
    // claim of an earlier attempt is kept: its id leads to a payment or a charge under it.
    const undone = (isRateRefusal(refusal) || it.idle?.(refusal) === true) && claimed === proposed
    await letGo(gateway, () =>
      undone
        ? gateway.store.idempotency.forget(it.ref, claimed, gateway.instance)
        : gateway.store.idempotency.release(it.ref, gateway.instance),
    )
    throw refusal
  }
}

/** A call that was refused by a rate did nothing; kept, the claims of a caller who goes on and on would fill the ledger. */
const isRateRefusal = (thrown: unknown): boolean => thrown instanceof Refusal && thrown.status === 429

/**
 * Gives up a claim, and tries again while the ledger does not answer: as long as this process lives, nobody else can
 * have what it has claimed. A late try cannot hit another process's claim, because a process that serves calls still
 * sends its heartbeats.
 */
const letGo = async ({ clock }: Gateway, go: () => Promise<void>): Promise<void> => {
  const gone = () =>
    go().then(
      () => true,
      () => false,
    )
  const goOn = async () => {
    for (let tries = 1; tries < LET_GO_TRIES; tries++) {
      await clock.sleep(LET_GO_MS)
      if (await gone()) return
    }
  }
  if (!(await gone())) void goOn()
}

/** The id to run under, or the answer that already exists. */
const claim = async (
  gateway: Gateway,
  it: First,
): Promise<string | StoredAnswer | { readonly run: CallId }> => {
  const { ref, fingerprint, fingerprintBefore, trace } = it
  const { callId } = trace
  const until = gateway.clock.monotonicMs() + WAIT_MS
  const { instance } = gateway
  const claim = { ref, instance, lockMs: gateway.options.timeouts.totalMs }
  // We do not know whether a claim succeeded, nor whether it is under an earlier attempt's id, so nothing runs.
  const faulty = (lets: () => Promise<void>) => (fault: unknown) => {
    if (it.idle?.(fault) !== true) void letGo(gateway, lets)
    throw fault
  }
  const release = () => gateway.store.idempotency.release(ref, instance)
  // What was claimed with it is found by the call's id, so that one is kept.
  if (await it.begin?.(claim).catch(faulty(release))) return callId
  const forget = () => gateway.store.idempotency.forget(ref, callId, instance).then(release)
  for (;;) {
    const entry = { ...claim, fingerprint, fingerprintBefore, callId }
    const state = await gateway.store.idempotency.begin(entry).catch(faulty(forget))
    if (state.state === 'first') return state.callId
    if (state.state === 'conflict') throw keyReused()
    if (state.state === 'running' && isJob(state.by)) return { run: callOfJob(state.by) }
    if (state.state === 'done') {
      it.trace.callId = state.callId
      return state.answer
    }
    if (gateway.clock.monotonicMs() >= until) throw stillRunning()
    await gateway.clock.sleep(POLL_MS)
  }
}

/**
 * Records the stream of a response in the background for those who sent the call here. Nothing of it is kept for repeats:
 * they read the response. Where there is no room for more it ends, and its readers take the rest up from the response.
 */
const readAlong = async (gateway: Gateway, it: First, body: ByteStream): Promise<void> => {
  try {
    for await (const piece of body) {
      it.recording.append(piece)
      if (it.recording.full()) break
    }
  } catch (fault) {
    noteBroken(gateway, it, fault)
  } finally {
    it.recording.end()
  }
}

const noteBroken = ({ log }: Gateway, { trace }: First, fault: unknown): void =>
  log.error('recorded stream broke off', { call: trace.callId, error: String(fault) })

const pump = async (gateway: Gateway, it: First, body: ByteStream): Promise<void> => {
  try {
    for await (const piece of body) it.recording.append(piece)
  } catch (fault) {
    noteBroken(gateway, it, fault)
  } finally {
    noteKept(
      gateway,
      it,
      it.recording.pieces().reduce((sum, piece) => sum + piece.length, 0),
    )
    it.recording.end()
    // What was charged is kept with its charge, broken or not; if nothing was charged, the next attempt runs again.
    if (it.trace.ended === 'vendor_failed' && it.trace.charged === undefined)
      await letGo(gateway, () => gateway.store.idempotency.release(it.ref, gateway.instance))
  }
}

const finished = async (recording: Recording): Promise<void> => {
  for await (const _piece of recording.read());
}

/** The status under which it is noted that a call was answered, and its answer not kept. */
export const NOT_KEPT = 410

const notKept = (): Refusal =>
  refuse(
    'answer_not_kept',
    "The call of this 'Idempotency-Key' was answered and charged once. Its answer was not kept: it asked for zdr, or guardrails blocked it.",
  )

const keyReused = (): Refusal =>
  refuse(
    'idempotency_key_reused',
    "This 'Idempotency-Key' was used with another body; use a new key for a new call.",
  )

const stillRunning = (): Refusal =>
  refuse(
    'idempotency_in_progress',
    "A call with this 'Idempotency-Key' is still running; try again in 5 s.",
    retryIn(5),
  )
