/**
 * Looks after jobs while a process runs: asks their vendors, ends them, and takes over those of silent processes. Jobs
 * are polled from memory; the ledger only learns that this process lives, and how a job ended.
 */
import { warning } from '../../core/log.ts'
import { messageOf } from '../../core/message-of.ts'
import { refuse } from '../../core/refusal.ts'
import type { Run } from '../../store/calls/run-port.ts'
import { systemPublicParts } from '../../transport/public-address.ts'
import { jobShapeOf } from '../hold/job-hold.ts'
import type { Gateway, Present } from '../parts/gateway.ts'
import { type Job, type Jobs, needsProcess, newJob, OWNER_MS, wakeWaiting } from '../parts/jobs.ts'
import { endFailed } from './end-job.ts'
import { deliveredAnswer, shownRun, shownStates } from './shown-run.ts'
import { sendSigned } from './signed-webhook.ts'
import { stepJob } from './step-job.ts'

const TICK_MS = 250
const KEEP_MS = 5_000
const NEWS_MS = 1_000
const TAKE_MS = 2_000
/** Jobs that one look takes over at most. */
const TAKEN_MOST = 200
/** This long before an ending process closes its connections, callers who still stay are told so. */
const TELL_MS = 2_000
/** Steps at once; each is an exchange with a vendor. */
const BUSY_MAX = 64
/** Those of one vendor: it may hang, and then the jobs of others would wait behind its own. */
const BUSY_OF_VENDOR = BUSY_MAX / 2

/** Ends the work within this time, and resolves when other processes may take over what is open. */
type StopJobs = (forMs: number) => Promise<void>

/**
 * Runs until the returned function is called. It still goes on with open jobs while one is being submitted here, or a
 * caller waits who cannot come back: then other processes take over.
 */
export const keepJobs = (present: Present): StopJobs => {
  const { clock, store, instance, log } = present.gateway
  const { jobs } = present.gateway.memory
  const failed = (what: string) => warning(log, what)
  type Work = (gateway: Gateway) => Promise<void> | void
  const loop = async (over: 'stopped' | 'left', everyMs: number, what: string, work: Work): Promise<void> => {
    while (!jobs[over]) {
      await Promise.resolve(work(present.gateway)).catch(failed(what))
      await clock.sleep(everyMs)
    }
  }
  void loop('left', TICK_MS, 'jobs could not be looked at', askDue)
  void loop('left', KEEP_MS, 'jobs could not be kept', keepOwn)
  void loop('left', NEWS_MS, 'news of jobs could not be read', readNews)
  void loop('stopped', TAKE_MS, 'silent jobs could not be taken up', takeSilent)
  void loop('stopped', TAKE_MS, 'due webhooks could not be read', sendRunWebhooks)
  return async (forMs) => {
    const endMs = clock.monotonicMs() + forMs
    const whileNeeded = async (needed: (jobs: Jobs) => boolean, untilMs: number): Promise<void> => {
      for (const id of [...jobs.waiting.keys()]) wakeWaiting(jobs, id)
      while (needed(jobs) && clock.monotonicMs() < untilMs) await clock.sleep(TICK_MS)
    }
    jobs.stopped = true
    await whileNeeded(needsProcess, endMs - Math.min(TELL_MS, forMs / 2))
    jobs.left = true
    // Who waits in vain learns what becomes of the job, before connections are closed.
    await whileNeeded(({ staying }) => staying > 0, endMs)
    if (jobs.open.size + jobs.submitting.size > 0)
      await store.runs.leave(instance).catch(failed('jobs could not be left to others'))
  }
}

/** Those that wait longest go first, so that each gets its turn where there are more than can be asked about. */
const askDue = (gateway: Gateway): void => {
  const { jobs } = gateway.memory
  const nowMs = gateway.clock.monotonicMs()
  const busy = new Map<string, number>()
  const due: Job[] = []
  for (const job of jobs.open.values()) {
    if (job.busy) busy.set(job.facts.vendor, (busy.get(job.facts.vendor) ?? 0) + 1)
    else if (job.dueMs <= nowMs) due.push(job)
  }
  for (const job of due.sort((one, other) => one.dueMs - other.dueMs)) {
    if (jobs.busy >= BUSY_MAX) return
    const ofVendor = busy.get(job.facts.vendor) ?? 0
    if (ofVendor >= BUSY_OF_VENDOR) continue
    busy.set(job.facts.vendor, ofVendor + 1)
    void step(gateway, job)
  }
}

/** Runs one step of a job at a time; whatever it throws is that step's failure, and the step is tried again. */
const step = async (gateway: Gateway, job: Job): Promise<void> => {
  const { log } = gateway
  const { jobs } = gateway.memory
  job.busy = true
  jobs.busy++
  try {
    await stepJob(gateway, job)
  } catch (error) {
    log.warn('a step of a job failed', {
      call: job.run.id,
      vendor: job.facts.vendor,
      error: messageOf(error),
    })
  } finally {
    job.busy = false
    jobs.busy--
  }
}

/** Asks about a job now, because it may have ended or is to end. */
export const askNow = (gateway: Gateway, id: string, it: { readonly cancel?: boolean } = {}): void => {
  const job = gateway.memory.jobs.open.get(id)
  if (job === undefined) return
  if (it.cancel === true) job.cancel = true
  // Anyone who can wake a job can do so often; its vendor is not asked more often because of that.
  job.dueMs = Math.min(job.dueMs, Math.max(gateway.clock.monotonicMs(), job.askedMs + NEWS_MS))
  if (it.cancel === true && !job.busy && !job.cancelSent) void step(gateway, job)
}

const keepOwn = async ({ memory: { jobs }, store, instance }: Gateway): Promise<void> => {
  const ids = [...jobs.open.keys(), ...jobs.submitting.keys()]
  if (ids.length === 0) return
  const changed = [...jobs.open.values()].filter(
    ({ progress, storedProgress }) => progress !== storedProgress,
  )
  const progress = changed.map(({ run, progress: now = 0 }) => ({ id: run.id, progress: now }))
  await store.runs.keep(instance, { ids, lifeMs: OWNER_MS, progress })
  for (const job of changed) job.storedProgress = job.progress
}

const readNews = async (gateway: Gateway): Promise<void> => {
  const { store, instance } = gateway
  const { jobs } = gateway.memory
  if (jobs.open.size === 0) return
  for (const { id, cancel } of await store.runs.news(instance)) askNow(gateway, id, { cancel })
}

const takeSilent = async (gateway: Gateway): Promise<void> => {
  const { clock, store, instance } = gateway
  const { passedOn } = gateway.memory.jobs
  for (const [id, atMs] of passedOn) if (atMs + OWNER_MS < clock.monotonicMs()) passedOn.delete(id)
  const taken = await store.runs.take(instance, {
    lifeMs: OWNER_MS,
    most: TAKEN_MOST,
    except: [...passedOn.keys()],
  })
  for (const run of taken) await takeUp(gateway, run)
}

const takeUp = async (gateway: Gateway, run: Run): Promise<void> => {
  const { clock, log } = gateway
  const { jobs } = gateway.memory
  if (jobs.open.has(run.id)) return
  if (run.facts === undefined) {
    // The vendor may have the job or not, and is never asked a second time. The house risks the cost of one submission.
    log.warn('a process died while it submitted a job; what its vendor may bill is a loss', {
      call: run.id,
      model: run.model,
    })
    return endFailed(
      gateway,
      { run, facts: undefined },
      refuse('upstream_error', 'The job was lost while it was submitted. Nothing was charged.'),
    )
  }
  const everyMs = jobShapeOf(gateway.offering, run.model)?.everyMs ?? TAKE_MS
  jobs.open.set(run.id, newJob(run, run.facts, { nowMs: clock.monotonicMs() - everyMs, everyMs }))
}

/** How many are under way at once, and of one wallet about: its receivers may be silent, and others wait behind them. */
const AT_ONCE = 100
const OF_WALLET = 20

/** Begins to send those that are due; a receiver that is away is tried again later. */
const sendRunWebhooks = async (gateway: Gateway): Promise<void> => {
  const { webhooks } = gateway.memory.jobs
  const underWay = [...webhooks.values()]
  const most = AT_ONCE - underWay.reduce((sum, count) => sum + count, 0)
  if (most <= 0) return
  const busy = [...webhooks].filter(([, count]) => count >= OF_WALLET).map(([walletId]) => walletId)
  const due = await gateway.store.runs.takeWebhooks({ most, ofWallet: OF_WALLET, except: busy })
  for (const run of due) void sendOne(gateway, run)
}

const sendOne = async (gateway: Gateway, run: Run): Promise<void> => {
  const { store, log } = gateway
  const { webhooks } = gateway.memory.jobs
  const count = (by: number): number => (webhooks.get(run.walletId) ?? 0) + by
  webhooks.set(run.walletId, count(1))
  try {
    await send(gateway, run)
    await store.runs.webhookSent(run.id)
  } catch (error) {
    log.warn('a webhook of a job was not accepted', { call: run.id, error: messageOf(error) })
  } finally {
    if (count(-1) === 0) webhooks.delete(run.walletId)
    else webhooks.set(run.walletId, count(-1))
  }
}

const send = async (gateway: Gateway, run: Run): Promise<void> => {
  const { clock, webhooks = systemPublicParts } = gateway
  const delivered = await deliveredAnswer(gateway, run, 'run')
  const data: unknown =
    delivered === undefined
      ? await shownRun(gateway, run)
      : JSON.parse(new TextDecoder().decode(delivered.body))
  const timestamp = String(Math.floor(clock.now() / 1000))
  const at = new Date(clock.now()).toISOString()
  const body = JSON.stringify({ type: `run.${shownStates[run.state]}`, timestamp: at, data })
  const signed = { walletId: run.walletId, id: `run_${run.id}`, timestamp, body }
  const parts = { hash: gateway.hash, webhooks, meters: gateway.watch.meters }
  await sendSigned(parts, { kind: 'job', url: run.webhook ?? '', ...signed })
}
