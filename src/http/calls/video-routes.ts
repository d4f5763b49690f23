/** The addresses of films as clients of OpenAI know them: each film is a run. Source of the format: OpenAI API reference, "Videos". */
import { isObject, parseJson } from '../../core/json-body.ts'
import { invalid, must, refuse } from '../../core/refusal.ts'
import { cancelRun } from '../../gateway/jobs/cancel-run.ts'
import { deliveredAnswer, errorOf, shownRun } from '../../gateway/jobs/shown-run.ts'
import type { Answer } from '../../gateway/parts/answer.ts'
import type { Gateway } from '../../gateway/parts/gateway.ts'
import type { Run, RunState } from '../../store/calls/run-port.ts'
import { json } from '../answer/reply.ts'
import { sendAsset } from '../files/assets.ts'
import { callHeaders } from '../request/call-headers.ts'
import { anyCallerOf } from '../request/caller.ts'
import { readQuery } from '../request/query.ts'
import { at, type Handler, type HttpCall, type Route } from '../route/route.ts'
import { paymentRequired } from '../schema/errors.ts'
import { video, videoBytes, videoDeleted, videoList, videoRequest } from '../schema/videos.ts'
import { answerCall } from './model-calls.ts'
import { decodeVideoCall } from './video-calls.ts'

const states = {
  submitting: 'queued',
  running: 'in_progress',
  done: 'completed',
  failed: 'failed',
  cancelled: 'failed',
} as const satisfies Record<RunState, string>

const secondsOf = (ms: number | undefined): number | null =>
  ms === undefined ? null : Math.floor(ms / 1_000)

/** A run as a film, beside what a run shows of itself. We keep neither its prompt nor its size. */
const shown = async (gateway: Gateway, run: Run): Promise<object> => {
  const delivered = await deliveredAnswer(gateway, run, 'run')
  const body = delivered?.body instanceof Uint8Array ? new TextDecoder().decode(delivered.body) : ''
  const own = parseJson(body) ?? (await shownRun(gateway, run))
  const { result, facts, state, progress = 0 } = run
  const used = result !== undefined && 'usage' in result ? result.usage : facts?.most
  const error = errorOf(run)
  return {
    ...(isObject(own) ? own : {}),
    id: run.id,
    object: 'video',
    model: facts?.modelName ?? run.model,
    status: states[state],
    progress: state === 'done' ? 100 : Math.floor(progress / 10),
    created_at: secondsOf(run.createdAt),
    completed_at: secondsOf(run.endedAt),
    expires_at: null,
    error: error === undefined ? null : { code: error.code, message: error.message },
    prompt: null,
    remixed_from_video_id: null,
    seconds: String(Math.ceil((used?.video_ms ?? 0) / 1_000)),
    size: '',
  }
}

const isFilm = ({ offering }: Gateway, { model }: Run): boolean =>
  offering.catalogue.find(model)?.product?.category === 'video'

const filmOf = async (gateway: Gateway, call: HttpCall): Promise<Run> => {
  const { id: keyId } = await anyCallerOf(gateway, call)
  const run = await gateway.store.runs.runFor(call.params.id ?? '', keyId)
  if (run === undefined || !isFilm(gateway, run))
    throw refuse(
      'not_found',
      'There is no film of this id, it is not yours, or it is no longer kept (RUN_DAYS).',
    )
  return run
}

const createVideo: Handler = async (gateway, call) => {
  const answer = await answerCall(gateway, call, { name: 'videos', decode: decodeVideoCall, form: true })
  if (!(answer.body instanceof Uint8Array) || answer.status >= 300) return answer
  const began = parseJson(new TextDecoder().decode(answer.body))
  const run = isObject(began) ? await gateway.store.runs.run(String(began.id)) : undefined
  return run === undefined ? answer : { ...json(await shown(gateway, run)), headers: answer.headers }
}

const getVideo: Handler = async (gateway, call) => json(await shown(gateway, await filmOf(gateway, call)))

const LIST_MOST = 100

const listVideos: Handler = async (gateway, call) => {
  const key = await anyCallerOf(gateway, call)
  const query = must(readQuery(call.query, ['after', 'limit', 'order']))
  const limit = Number(query.get('limit') ?? LIST_MOST)
  if (!Number.isInteger(limit) || limit < 1 || limit > LIST_MOST)
    throw invalid('limit', `'limit' must be 1 to ${LIST_MOST}.`)
  const newest = await gateway.store.runs.runsOf(key.id, { most: LIST_MOST })
  const films = newest.filter((run) => isFilm(gateway, run))
  if (query.get('order') === 'asc') films.reverse()
  const after = query.get('after')
  const start = after === undefined ? 0 : films.findIndex(({ id }) => id === after) + 1
  if (after !== undefined && start === 0)
    throw invalid('after', "'after' must be the id of a film of this list.")
  const page = films.slice(start, start + limit)
  return json({
    object: 'list',
    data: await Promise.all(page.map((run) => shown(gateway, run))),
    first_id: page[0]?.id ?? null,
    last_id: page.at(-1)?.id ?? null,
    has_more: start + page.length < films.length,
  })
}

const assetOf = async ({ assets, store }: Gateway, { id, result }: Run) => {
  const outputs = result !== undefined && 'outputs' in result ? result.outputs : []
  const index = outputs.findIndex(({ type }) => type === 'video')
  const kept = index < 0 ? undefined : await assets?.kept(id, index, 'video')
  return kept === undefined ? undefined : store.assets.asset(kept.id)
}

const getContent: Handler = async (gateway, call): Promise<Answer> => {
  const run = await filmOf(gateway, call)
  const variant = must(readQuery(call.query, ['variant'])).get('variant') ?? 'video'
  if (variant !== 'video') throw invalid('variant', "'variant' must be video: there is no other.")
  const asset = await assetOf(gateway, run)
  if (asset === undefined)
    throw refuse(
      'not_found',
      `There are no bytes of this film: it is ${states[run.state]}, or no longer kept.`,
    )
  return sendAsset(gateway, call, asset)
}

/** A film that is being made is stopped; of one that was made the bytes end. Its run stays, as what was paid. */
const deleteVideo: Handler = async (gateway, call) => {
  const run = await filmOf(gateway, call)
  if (run.endedAt === undefined) await cancelRun(gateway, run.id)
  const asset = await assetOf(gateway, run)
  if (asset !== undefined) await gateway.assets?.end(asset.id, run.keyId)
  return json({ id: run.id, object: 'video.deleted', deleted: true })
}

const ofFilms = { auth: 'bearer' } as const

export const videoRoutes: readonly Route[] = [
  {
    ...ofFilms,
    ...at('POST /v1/videos'),
    summary: "Begins a film, in the style of OpenAI's clients; the body is a form, or JSON.",
    body: videoRequest,
    answer: video,
    instead: paymentRequired,
    statuses: [200, 202],
    headers: callHeaders,
    runs: true,
    handler: createVideo,
  },
  {
    ...ofFilms,
    ...at('GET /v1/videos'),
    summary: 'The films among the newest hundred runs of the key.',
    answer: videoList,
    query: ['after', 'limit', 'order'],
    handler: listVideos,
  },
  {
    ...ofFilms,
    ...at('GET /v1/videos/:id'),
    summary: 'The state of a film of the key, or of a key below it; free.',
    answer: video,
    handler: getVideo,
  },
  {
    ...ofFilms,
    ...at('DELETE /v1/videos/:id'),
    summary: 'Stops a film that is being made, or ends the bytes of one that was made.',
    answer: videoDeleted,
    handler: deleteVideo,
  },
  {
    ...ofFilms,
    ...at('GET /v1/videos/:id/content'),
    summary: 'The bytes of a film, whole or a range of them. A 302 if they are in a bucket.',
    answer: videoBytes,
    answerType: 'video/*',
    headers: ['Range', 'If-Range', 'If-None-Match'],
    query: ['variant'],
    handler: getContent,
  },
]
