/**
 * Google's films and songs by the Interactions API. Sources: ai.google.dev, "Gemini Omni Flash", "Lyria 3.5", pricing;
 * npm @google/genai 3.1.0. Results are in `steps`, never in `output_video`, which only the clients add. Not verified:
 * that films keep to the requested length, and a filter's answer.
 */
import { z } from 'zod'
import { isObject, type Json, type JsonObject } from '../../core/json-body.ts'
import { postJson } from '../../media/post-json.ts'
import type { MediaModel } from '../../media/product.ts'
import { usd } from '../../media/rate-card.ts'
import { countAt, listAt, objectOf, textAt } from '../../media/read-answer.ts'
import { addressAt, BLOCKED, begunAt, cancelled, failed, jobDone, segmentOf } from '../../media/read-job.ts'
import type { JobShape, OnceShape, Output, Verdict } from '../../media/shape.ts'

/** Tokens per second of 720p, sound included. */
const TOKENS_A_SECOND = 5_792
const MILLION = 1_000_000
/** Thoughts and text beside a film, with some margin. */
const TEXT_TOKENS = 16_384
const FRAME_TOKENS = 200

type FoundOutput = { readonly output: Output; readonly body: JsonObject }

const withoutData = (content: Json): Json => {
  if (!isObject(content)) return content
  const { data: _bytes, ...rest } = content
  return rest
}

/** The first result of a type, and the body without its bytes and without what the caller said. */
const resultOf = (body: JsonObject, type: 'video' | 'audio'): FoundOutput | undefined => {
  const steps = (listAt(body, 'steps') ?? []).filter((step) => textAt(step, 'type') === 'model_output')
  const shown = steps.map((step) => ({
    type: 'model_output',
    content: (listAt(step, 'content') ?? []).map(withoutData),
  }))
  for (const [index, step] of steps.entries())
    for (const [place, content] of (listAt(step, 'content') ?? []).entries()) {
      if (textAt(content, 'type') !== type) continue
      const at = ['steps', index, 'content', place, 'uri']
      const [url, base64] = [addressAt(content, 'uri'), textAt(content, 'data')]
      const from =
        url !== undefined ? { url, withKey: true as const } : base64 !== undefined ? { base64 } : undefined
      if (from !== undefined) return { output: { type, from, at }, body: { ...body, steps: shown } }
    }
  return undefined
}

const tokensOf = (usage: Json | undefined, list: string, modality: string): number =>
  (listAt(usage, list) ?? [])
    .filter((one) => textAt(one, 'modality')?.toLowerCase() === modality)
    .reduce<number>((sum, one) => sum + (countAt(one, 'tokens') ?? 0), 0)

/** Converts tokens of film to milliseconds of 720p. */
const usageOf = (body: JsonObject) => {
  const { usage } = body
  const total = countAt(usage, 'total_output_tokens')
  if (total === undefined) return undefined
  const video = tokensOf(usage, 'output_tokens_by_modality', 'video')
  return {
    input: countAt(usage, 'total_input_tokens') ?? 0,
    output: Math.max(0, total - video) + (countAt(usage, 'total_thought_tokens') ?? 0),
    video_ms: Math.ceil((video * 1_000) / TOKENS_A_SECOND),
  }
}

const wordsOf = (body: JsonObject): string => JSON.stringify([body.errors ?? '', body.steps ?? ''])

const failureOf = (body: JsonObject): Verdict => {
  const [first] = listAt(body, 'errors') ?? []
  if (/safety|prohibited|blocked|policy/i.test(wordsOf(body))) return BLOCKED
  return failed(textAt(first, 'message'))
}

const film: JobShape = {
  flow: 'job',
  ask: ({ prompt, aspect_ratio, duration, resolution }, model) =>
    postJson('/interactions', {
      model,
      input: prompt ?? '',
      background: true,
      response_format: {
        type: 'video',
        aspect_ratio: aspect_ratio ?? null,
        duration: `${duration}s`,
        resolution: resolution ?? null,
        delivery: 'uri',
      },
    }),
  readRef: (answer) => begunAt(objectOf(answer)),
  poll: (ref) => ({ method: 'GET', path: `/interactions/${segmentOf(ref, 'id')}` }),
  readPoll: (answer) => {
    const body = objectOf(answer)
    switch (textAt(body, 'status')) {
      case 'queued':
      case 'in_progress':
      case 'requires_continuation':
        return { pending: true }
      case 'completed': {
        const found = body === undefined ? undefined : resultOf(body, 'video')
        if (body === undefined || found === undefined) return failureOf(body ?? {})
        return jobDone([found.output], found.body, usageOf(body))
      }
      case 'cancelled':
        return cancelled(usageOf(body ?? {}))
      case 'failed':
      case 'incomplete':
      case 'budget_exceeded':
        return failureOf(body ?? {})
      default:
        return undefined
    }
  },
  cancel: (ref) => ({ method: 'POST', path: `/interactions/${segmentOf(ref, 'id')}/cancel` }),
  onCancel: 'billed',
  everyMs: 2_000,
  deadlineMs: 1_800_000,
}

const song: OnceShape = {
  flow: 'once',
  ask: ({ prompt }, model) => postJson('/interactions', { model, input: prompt ?? '', store: false }),
  read: (answer) => {
    const body = objectOf(answer)
    if (body === undefined) return undefined
    const found = resultOf(body, 'audio')
    if (found !== undefined) return jobDone([found.output], found.body, { song: 1 })
    return textAt(body, 'status') === undefined ? undefined : failureOf(body)
  },
}

const encoder = new TextEncoder()

export const googleInteractions: readonly MediaModel[] = [
  {
    name: 'gemini-omni-1.1-flash',
    category: 'video',
    title: 'Gemini Omni 1.1 Flash',
    description: 'Films of 3 to 10 seconds with sound from text, 720p.',
    inputs: z.strictObject({
      prompt: z.string().min(1).max(8_000),
      aspect_ratio: z.enum(['16:9', '9:16']).default('16:9'),
      duration: z.int().min(3).max(10).default(6),
      // Others have no published price.
      resolution: z.enum(['720p']).default('720p'),
    }),
    example: { prompt: 'a marble rolls down a track', duration: 6 },
    shape: film,
    card: {
      rows: [
        {
          rates: {
            input: usd('1.5', MILLION),
            output: usd('9', MILLION),
            video_ms: usd('0.10136', 1_000),
          },
        },
      ],
      most: {
        input: ({ prompt }) => encoder.encode(String(prompt)).length + FRAME_TOKENS,
        output: () => TEXT_TOKENS,
        video_ms: ({ duration }) => Number(duration) * 1_100,
      },
      asked: { video_ms: ({ duration }) => Number(duration) * 1_000 },
    },
    source:
      'ai.google.dev/gemini-api/docs/pricing as three others quote it, 2026-09: 17.5 USD a million tokens, 5,792 a second of 720p',
  },
  {
    name: 'lyria-3.5',
    category: 'music',
    title: 'Lyria 3.5',
    description: 'Makes a song of some minutes from a description; one price a song.',
    inputs: z.strictObject({ prompt: z.string().min(1).max(8_000) }),
    example: { prompt: 'a calm piano piece without words' },
    shape: song,
    card: { rows: [{ rates: { song: usd('0.08') } }], most: { song: () => 1 } },
    source: 'ai.google.dev/gemini-api/docs/pricing, by api-evangelist/deepmind, 2026-10',
  },
]
