/**
 * MiniMax's Hailuo films, in three steps: submit, poll, and then ask for the file's address, which is valid for an
 * hour. Sources: platform.minimax.io openapi; its pages of prices as media.ts names them. Cancelling is not
 * documented.
 */
import { z } from 'zod'
import { postJson } from '../../media/post-json.ts'
import type { MediaModel } from '../../media/product.ts'
import { usd } from '../../media/rate-card.ts'
import { member, objectOf, textAt } from '../../media/read-answer.ts'
import { addressAt, failed, jobDone, outputAt } from '../../media/read-job.ts'
import type { JobShape } from '../../media/shape.ts'
import { pictureInput } from '../../media/web-input.ts'
import { refusedBy, source } from './media.ts'

const UNDER_WAY = ['Preparing', 'Queueing', 'Processing']

const shape: JobShape = {
  flow: 'job',
  ask: (inputs, model) => postJson('/video_generation', { model, ...inputs }),
  readRef: (answer) => {
    const refused = refusedBy(answer)
    if (refused !== undefined) return refused
    const id = textAt(objectOf(answer), 'task_id') ?? ''
    return id === '' ? undefined : { ref: { id } }
  },
  poll: (ref) => ({
    method: 'GET',
    path: '/query/video_generation',
    query: { task_id: textAt(ref, 'id') ?? '' },
  }),
  readPoll: (answer, { step }) => {
    const body = objectOf(answer)
    if (step > 0) {
      const url = addressAt(member(body, 'file'), 'download_url')
      if (body === undefined || url === undefined) return undefined
      return jobDone([outputAt('video', url, ['file', 'download_url'])], body, { call: 1 })
    }
    const status = textAt(body, 'status') ?? ''
    if (UNDER_WAY.includes(status)) return { pending: true }
    if (status === 'Fail') return refusedBy(answer) ?? failed('the film could not be made')
    const file = textAt(body, 'file_id') ?? ''
    if (status !== 'Success' || file === '') return undefined
    return { next: { method: 'GET', path: '/files/retrieve', query: { file_id: file } } }
  },
  onCancel: 'billed',
  everyMs: 5_000,
  deadlineMs: 3_600_000,
}

type Rows = MediaModel['card']['rows']

const row = (resolution: string, duration: number, price: string): Rows[number] => ({
  when: { resolution, duration },
  rates: { call: usd(price) },
})

type Film = {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly picture: 'needed' | 'optional'
  readonly resolutions: readonly [string, ...string[]]
  readonly rows: Rows
}

const film = ({ name, title, description, picture, resolutions, rows }: Film): MediaModel => ({
  name,
  category: 'video',
  title,
  description,
  inputs: z
    .strictObject({
      prompt: z.string().min(1).max(2_000),
      first_frame_image: picture === 'needed' ? pictureInput : pictureInput.optional(),
      resolution: z.enum(resolutions).default('768P'),
      duration: z.literal([6, 10]).default(6),
      prompt_optimizer: z.boolean().default(true),
    })
    .refine(({ resolution, duration }) => resolution !== '1080P' || duration === 6, {
      path: ['duration'],
      message: 'must be 6 where the resolution is 1080P',
    }),
  example: {
    prompt: 'a red fox runs through snow',
    ...(picture === 'needed' ? { first_frame_image: 'https://example.com/fox.png' } : {}),
  },
  shape,
  card: { rows, most: { call: () => 1 } },
  source,
})

const full: Rows = [row('768P', 6, '0.28'), row('768P', 10, '0.56'), row('1080P', 6, '0.49')]

export const minimaxVideo: readonly MediaModel[] = [
  film({
    name: 'MiniMax-Hailuo-2.3',
    title: 'Hailuo 2.3',
    description: 'Films of 6 or 10 seconds from text, or from a first picture and a text.',
    picture: 'optional',
    resolutions: ['768P', '1080P'],
    rows: full,
  }),
  film({
    name: 'MiniMax-Hailuo-2.3-Fast',
    title: 'Hailuo 2.3 Fast',
    description: 'Films of 6 or 10 seconds that begin with a picture, cheaply.',
    picture: 'needed',
    resolutions: ['768P', '1080P'],
    rows: [row('768P', 6, '0.19'), row('768P', 10, '0.32'), row('1080P', 6, '0.33')],
  }),
  film({
    name: 'MiniMax-Hailuo-02',
    title: 'Hailuo 02',
    description: 'Films of 6 or 10 seconds from text, or from a first picture and a text.',
    picture: 'optional',
    resolutions: ['768P', '1080P'],
    rows: full,
  }),
]
