/** An admitted call becomes its answer: whole, as a stream, or later. */

import { answerMedia } from '../answer/answer-media.ts'
import { answerStream } from '../answer/answer-stream.ts'
import { answerWhole } from '../answer/answer-whole.ts'
import { jobShapeOf } from '../hold/job-hold.ts'
import { answerInBackground } from '../jobs/answer-background.ts'
import { answerJob } from '../jobs/answer-job.ts'
import type { Answer } from '../parts/answer.ts'
import type { Gateway } from '../parts/gateway.ts'
import type { Task } from '../parts/task.ts'

/** Asks, meters and settles: all that follows once the money is held, whoever pays. */
export const answerTask = (gateway: Gateway, task: Task): Promise<Answer> => {
  const { memory } = task
  return memory?.background === undefined
    ? answerDirectly(gateway, task)
    : answerInBackground(gateway, task, { memory, asked: memory.background, direct: answerDirectly })
}

const answerDirectly = (gateway: Gateway, task: Task): Promise<Answer> => {
  const priced = task.call.media?.priced
  if (priced !== undefined) {
    const shape = jobShapeOf(gateway.offering, task.model.id)
    return shape === undefined
      ? answerMedia(gateway, task, priced)
      : answerJob(gateway, task, { shape, priced })
  }
  return task.call.stream ? answerStream(gateway, task) : answerWhole(gateway, task)
}
