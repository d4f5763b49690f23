/** Runs over HTTP: a job's state, its cancellation, and where vendors report that it may have ended. */
import { invalid, must, type Refusal, refuse } from '../../core/refusal.ts'
import { awaitRun } from '../../gateway/jobs/await-run.ts'
import { cancelRun } from '../../gateway/jobs/cancel-run.ts'
import { deliveredAnswer, isRunToken, shownRun, shownStates } from '../../gateway/jobs/shown-run.ts'
import { wakeBy } from '../../gateway/jobs/wake-hook.ts'
import type { Answer } from '../../gateway/parts/answer.ts'
import type { Gateway } from '../../gateway/parts/gateway.ts'
import { type Run, runStates } from '../../store/calls/run-port.ts'
import { json } from '../answer/reply.ts'
import { anyCallerOf } from '../request/caller.ts'
import { readQuery } from '../request/query.ts'
import type { Handler, HttpCall } from '../route/route.ts'

const LIST_MOST = 100
const LIST_USUAL = 20
/** How long we wait for a cancellation: most vendors answer at once. */
const CANCEL_WAIT_MS = 2_000

/** A run of the key or of a key below it; whoever paid for one without a key has its token. */
const runOf = async (gateway: Gateway, call: HttpCall): Promise<Run> => {
  const id = call.params.id ?? ''
  const token = must(readQuery(call.query, ['token'])).get('token')
  const { store } = gateway
  const run =
    token !== undefined
      ? isRunToken(gateway, id, token)
        ? await store.runs.run(id)
        : undefined
      : await store.runs.runFor(id, (await anyCallerOf(gateway, call)).id)
  if (run === undefined)
    throw refuse(
      'not_found',
      'There is no run of this id, it is not yours, or it is no longer kept (RUN_DAYS).',
    )
  return run
}

const shown = async (gateway: Gateway, run: Run): Promise<Answer> =>
  (await deliveredAnswer(gateway, run, 'run')) ?? json(await shownRun(gateway, run))

export const getRun: Handler = async (gateway, call) => shown(gateway, await runOf(gateway, call))

/** Asks to cancel a run; one that has ended stays as it is. */
export const deleteRun: Handler = async (gateway, call) => {
  const run = await runOf(gateway, call)
  if (run.endedAt !== undefined) return shown(gateway, run)
  await cancelRun(gateway, run.id)
  return shown(gateway, (await awaitRun(gateway, run.id, CANCEL_WAIT_MS)) ?? run)
}

export const listRuns: Handler = async (gateway, call) => {
  const key = await anyCallerOf(gateway, call)
  const query = must(readQuery(call.query, ['status', 'limit', 'after']))
  const most = must(limitOf(query.get('limit')))
  const states = must(statesOf(query.get('status')))
  const named = query.get('after')
  const after = named === undefined ? undefined : await gateway.store.runs.run(named)
  if (named !== undefined && after?.keyId !== key.id)
    throw invalid('after', "'after' must be the id of a run of this list: the last one of the page before.")
  const found = await gateway.store.runs.runsOf(key.id, { states, most: most + 1, after })
  const data = await Promise.all(found.slice(0, most).map((run) => shownRun(gateway, run)))
  return json({ object: 'list', data, has_more: found.length > most })
}

const limitOf = (text: string | undefined): number | Refusal => {
  if (text === undefined) return LIST_USUAL
  const limit = /^\d{1,3}$/.test(text) ? Number.parseInt(text, 10) : 0
  return limit >= 1 && limit <= LIST_MOST ? limit : invalid('limit', `'limit' must be 1 to ${LIST_MOST}.`)
}

const statesOf = (text: string | undefined): readonly Run['state'][] | undefined | Refusal => {
  if (text === undefined) return undefined
  const states = runStates.filter((state) => shownStates[state] === text)
  return states.length > 0
    ? states
    : invalid('status', `'status' must be one of ${Object.values(shownStates).join(', ')}.`)
}

/** Every message gets the same answer, whatever it says and whoever sends it. */
export const vendorHook: Handler = async (gateway, { params }) => {
  await wakeBy(gateway, params.vendor ?? '', params.token ?? '').catch(() => undefined)
  return { status: 204, headers: {}, body: new Uint8Array() }
}
