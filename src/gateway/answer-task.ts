/** An admitted call becomes its answer, whole or as a stream. */
import type { Answer } from './answer.ts'
import { answerStream } from './answer-stream.ts'
import { answerWhole } from './answer-whole.ts'
import type { Gateway } from './gateway.ts'
import type { Task } from './task.ts'

/** Asks, meters and settles: what follows once the money is held, whoever pays. */
export const answerTask = (gateway: Gateway, task: Task): Promise<Answer> =>
  task.call.stream ? answerStream(gateway, task) : answerWhole(gateway, task)
