/** An admitted call becomes its answer, whole or as a stream. */
import type { Answer } from './answer.ts'
import { answerJob } from './answer-job.ts'
import { answerMedia } from './answer-media.ts'
import { answerStream } from './answer-stream.ts'
import { answerWhole } from './answer-whole.ts'
import type { Gateway } from './gateway.ts'
import { jobShapeOf } from './job-hold.ts'
import type { Task } from './task.ts'

/** Asks, meters and settles: all that follows once the money is held, whoever pays. */
export const answerTask = (gateway: Gateway, task: Task): Promise<Answer> => {
  const priced = task.call.media?.priced
  if (priced !== undefined) {
    const shape = jobShapeOf(gateway.offering, task.model.id)
    return shape === undefined
      ? answerMedia(gateway, task, priced)
      : answerJob(gateway, task, { shape, priced })
  }
  return task.call.stream ? answerStream(gateway, task) : answerWhole(gateway, task)
}
