/**
 * Each vendor's answers about a job that is taken, waits, has ended well, was blocked, failed or was cancelled: for a
 * scripted vendor.
 */
import type { JsonObject } from '../src/core/json-body.ts'
import type { Reply } from './vendor-media.ts'

/** The place of scripted results; any public name leads to the test's own web. */
const FILM = 'https://cdn.example.com/film.mp4'
const STILL = 'https://cdn.example.com/still.png'

/** The same address everywhere in an answer, so that a test can lead it elsewhere. */
export const RESULTS = 'https://cdn.example.com/'

export type Script = {
  readonly id: string
  readonly inputs: JsonObject
  /** The cost of the vendor's answers by its card, in nano-USD; and the held amount. */
  readonly charge: bigint
  readonly bound: bigint
  readonly taken: Reply
  readonly pending: Reply
  readonly done: Reply
  readonly failed: Reply
  readonly blocked?: Reply
  /** The requests for it, and the answers afterwards. */
  readonly cancel?: { readonly method: string; readonly path: RegExp; readonly said: Reply }
  /** Further exchanges, by method and path. */
  readonly steps?: readonly { readonly asked: RegExp; readonly said: Reply }[]
  /** The header that carries the key. */
  readonly key: readonly [name: string, value: string]
}

const ok = (json: unknown, status = 200): Reply => ({ status, json })
const bearer = ['authorization', 'Bearer house-key'] as const
const USD = 1_000_000_000n
const CENT = USD / 100n

const fox = { prompt: 'a fox' }

export const scripts: readonly Script[] = [
  {
    id: 'bfl/flux-2-pro',
    inputs: { ...fox, width: 2_048, height: 1_024 },
    charge: (9n * CENT) / 2n,
    bound: (9n * CENT) / 2n,
    taken: ok({
      id: 'a1',
      polling_url: 'https://api.eu.bfl.ai/v1/get_result?id=a1',
      cost: 4.5,
      input_mp: 0,
      output_mp: 2,
    }),
    pending: ok({ id: 'a1', status: 'Pending', progress: 0.4 }),
    done: ok({ id: 'a1', status: 'Ready', result: { sample: STILL, prompt: 'a fox' } }),
    failed: ok({ id: 'a1', status: 'Error' }),
    blocked: ok({ id: 'a1', status: 'Content Moderated' }),
    key: ['x-key', 'house-key'],
  },
  {
    id: 'runway/gen4.5',
    inputs: { promptText: 'a fox', duration: 5 },
    charge: 60n * CENT,
    bound: 60n * CENT,
    taken: ok({ id: 'b2', estimatedCost: { credits: 60 } }),
    pending: ok({ id: 'b2', status: 'RUNNING', progress: 0.4 }),
    done: ok({ id: 'b2', status: 'SUCCEEDED', cost: { credits: 60 }, output: [FILM] }),
    failed: ok({ id: 'b2', status: 'FAILED', failureCode: 'INTERNAL' }),
    blocked: ok({ id: 'b2', status: 'FAILED', failureCode: 'SAFETY.INPUT.TEXT' }),
    cancel: {
      method: 'DELETE',
      path: /\/tasks\/b2$/,
      said: ok({ id: 'b2', status: 'CANCELLED', cost: { credits: 0 } }),
    },
    key: bearer,
  },
  {
    id: 'luma/ray-3.2',
    inputs: { ...fox, resolution: '540p' },
    charge: 15n * CENT,
    bound: 15n * CENT,
    taken: ok({ id: 'c3', state: 'queued' }, 201),
    pending: ok({ id: 'c3', state: 'processing' }),
    done: ok({ id: 'c3', state: 'completed', output: [{ type: 'video', url: FILM }] }),
    failed: ok({ id: 'c3', state: 'failed', failure_reason: 'oops' }),
    blocked: ok({ id: 'c3', state: 'failed', failure_code: 'content_moderated' }),
    key: bearer,
  },
  {
    id: 'xai/grok-imagine-video',
    inputs: { ...fox, duration: 5 },
    charge: 25n * CENT,
    bound: 25n * CENT,
    taken: ok({ request_id: 'd4' }),
    pending: { status: 202, text: '' },
    done: ok({ status: 'done', video: { url: FILM, duration: 5, respect_moderation: true } }),
    failed: ok({ status: 'failed', error: { message: 'oops' } }),
    blocked: ok({ status: 'done', video: { url: '', respect_moderation: false } }),
    key: bearer,
  },
  {
    id: 'shotstack/render',
    inputs: {
      timeline: { tracks: [{ clips: [{ asset: { type: 'title', text: 'Hi' }, start: 0, length: 3 }] }] },
    },
    charge: USD / 200n,
    bound: (3n * USD) / 200n,
    taken: ok({ success: true, response: { id: 'e5' } }, 201),
    pending: ok({ response: { id: 'e5', status: 'rendering', url: null } }),
    done: ok({ response: { id: 'e5', status: 'done', url: FILM, duration: 1 } }),
    failed: ok({ response: { id: 'e5', status: 'failed', error: 'oops' } }),
    key: ['x-api-key', 'house-key'],
  },
  {
    id: 'stability/upscale-creative',
    inputs: { ...fox, image: 'data:image/png;base64,cG5n' },
    charge: 60n * CENT,
    bound: 60n * CENT,
    taken: ok({ id: 'f6' }),
    pending: ok({ id: 'f6', status: 'in-progress' }, 202),
    done: { headers: { 'content-type': 'image/png', 'finish-reason': 'SUCCESS' }, text: '<picture>' },
    failed: { headers: { 'content-type': 'text/html' }, text: '<p>' },
    blocked: { status: 403, json: { name: 'content_moderation', errors: ['no'] } },
    key: bearer,
  },
  {
    id: 'fal/fal-ai/kling-video/v3/standard/text-to-video',
    inputs: { ...fox, duration: '5' },
    charge: 42n * CENT,
    bound: 42n * CENT,
    taken: ok({ request_id: 'g7', status: 'IN_QUEUE' }),
    pending: ok({ status: 'IN_PROGRESS' }, 202),
    done: ok({ status: 'COMPLETED' }),
    failed: ok({ status: 'COMPLETED' }),
    blocked: ok({ status: 'COMPLETED' }),
    cancel: { method: 'PUT', path: /\/requests\/g7\/cancel$/, said: ok({ status: 'CANCELLED' }) },
    steps: [
      {
        asked: /^GET .*\/requests\/g7$ done/,
        said: { headers: { 'x-fal-billable-units': '5.008' }, json: { video: { url: FILM } } },
      },
      { asked: /^GET .*\/requests\/g7$ failed/, said: { status: 500, json: { detail: 'oops' } } },
      {
        asked: /^GET .*\/requests\/g7$ blocked/,
        said: { status: 422, json: { detail: [{ msg: 'no', type: 'content_policy_violation' }] } },
      },
    ],
    key: ['authorization', 'Key house-key'],
  },
  {
    id: 'replicate/black-forest-labs/flux-schnell',
    inputs: { ...fox, num_outputs: 2 },
    charge: (6n * USD) / 1_000n,
    bound: (6n * USD) / 1_000n,
    taken: ok({ id: 'h8', status: 'starting' }, 201),
    pending: ok({ id: 'h8', status: 'processing', output: null }),
    done: ok({ id: 'h8', status: 'succeeded', output: [STILL, STILL], input: fox }),
    failed: ok({ id: 'h8', status: 'failed', error: 'oops' }),
    blocked: ok({ id: 'h8', status: 'failed', error: 'NSFW content detected' }),
    cancel: {
      method: 'POST',
      path: /\/predictions\/h8\/cancel$/,
      said: ok({ id: 'h8', status: 'canceled' }),
    },
    key: bearer,
  },
  {
    id: 'bytedance/seedance-2.0-fast',
    inputs: { ...fox, duration: 5 },
    charge: 609_840_000n,
    bound: 622_020_000n,
    taken: ok({ id: 'i9' }),
    pending: ok({ id: 'i9', status: 'running' }),
    done: ok({
      id: 'i9',
      status: 'succeeded',
      content: { video_url: FILM },
      usage: { completion_tokens: 108_900 },
    }),
    failed: ok({ id: 'i9', status: 'failed', error: { code: 'InternalServiceError' } }),
    blocked: ok({ id: 'i9', status: 'failed', error: { code: 'OutputVideoSensitiveContentDetected' } }),
    cancel: { method: 'DELETE', path: /\/tasks\/i9$/, said: ok({ id: 'i9', status: 'cancelled' }) },
    key: bearer,
  },
  {
    id: 'minimax/MiniMax-Hailuo-2.3',
    inputs: fox,
    charge: 28n * CENT,
    bound: 28n * CENT,
    taken: ok({ task_id: 'j1', base_resp: { status_code: 0 } }),
    pending: ok({ task_id: 'j1', status: 'Processing', base_resp: { status_code: 0 } }),
    done: ok({ task_id: 'j1', status: 'Success', file_id: '205', base_resp: { status_code: 0 } }),
    failed: ok({ task_id: 'j1', status: 'Fail', base_resp: { status_code: 0 } }),
    blocked: ok({ task_id: 'j1', status: 'Fail', base_resp: { status_code: 1027 } }),
    steps: [
      {
        asked: /^GET .*\/files\/retrieve\?file_id=205$/,
        said: ok({ file: { download_url: FILM }, base_resp: { status_code: 0 } }),
      },
    ],
    key: bearer,
  },
  {
    id: 'google/gemini-omni-1.1-flash',
    inputs: { ...fox, duration: 4 },
    // 10 tokens of text, 4 seconds of film.
    charge: 15_000n + 405_440_000n,
    bound: 593_747_500n,
    taken: ok({ id: 'v1_k', status: 'in_progress' }),
    pending: ok({ id: 'v1_k', status: 'in_progress' }),
    done: ok({
      id: 'v1_k',
      status: 'completed',
      steps: [{ type: 'model_output', content: [{ type: 'video', uri: FILM }] }],
      usage: {
        total_input_tokens: 10,
        total_output_tokens: 23_168,
        output_tokens_by_modality: [{ modality: 'video', tokens: 23_168 }],
      },
    }),
    failed: ok({ id: 'v1_k', status: 'failed', errors: [{ code: 13, message: 'internal' }] }),
    blocked: ok({ id: 'v1_k', status: 'failed', errors: [{ code: 3, message: 'safety' }] }),
    cancel: {
      method: 'POST',
      path: /\/interactions\/v1_k\/cancel$/,
      said: ok({ id: 'v1_k', status: 'cancelled', usage: { total_input_tokens: 0, total_output_tokens: 0 } }),
    },
    key: ['x-goog-api-key', 'house-key'],
  },
  {
    id: 'assemblyai/universal-2',
    inputs: { file: SOUND() },
    // One second at 0.15 USD an hour.
    charge: 41_667n,
    bound: 83_334n,
    taken: ok({ upload_url: 'https://cdn.assemblyai.com/upload/x' }),
    pending: ok({ id: 'm1', status: 'processing' }),
    done: ok({ id: 'm1', status: 'completed', text: 'hello', audio_duration: 1, words: [] }),
    failed: ok({ id: 'm1', status: 'error', error: 'oops' }),
    steps: [{ asked: /^POST .*\/v2\/transcript$/, said: ok({ id: 'm1', status: 'queued' }) }],
    key: ['authorization', 'house-key'],
  },
]

/** A second of silence. */
function SOUND(): string {
  const head = Buffer.alloc(44)
  head.write('RIFF')
  head.writeUInt32LE(8_036, 4)
  head.write('WAVEfmt ', 8)
  head.writeUInt32LE(16, 16)
  head.writeUInt16LE(1, 20)
  head.writeUInt16LE(1, 22)
  head.writeUInt32LE(8_000, 24)
  head.writeUInt32LE(8_000, 28)
  head.writeUInt16LE(1, 32)
  head.writeUInt16LE(8, 34)
  head.write('data', 36)
  head.writeUInt32LE(8_000, 40)
  return `data:audio/wav;base64,${Buffer.concat([head, Buffer.alloc(8_000, 128)]).toString('base64')}`
}
