/**
 * The process that does the work of built-in products, one piece at a time. It is a separate process for two reasons: a
 * thread in a WebAssembly loop cannot be stopped, and a file that makes a library use up all memory must not take the
 * server down.
 */
import { setPriority } from 'node:os'
import { dirname } from 'node:path'
import { messageOf } from '../../core/message-of.ts'
import { moduleAt } from '../own-program.ts'
import { makes } from './makes.ts'
import { leaveRoot } from './own-user.ts'
import { type PartAsked, type PartGiven, type Work, type WorkReply, WrongInput } from './work.ts'

leaveRoot(dirname(Bun.isStandaloneExecutable ? process.execPath : import.meta.dir))
// On a machine short of cores, other people's calls come first.
setPriority(10)
new Worker(moduleAt('transport/local-media/guard.ts'))

const asked = new Map<number, PromiseWithResolvers<Uint8Array>>()
let parts = 0

/** Asks the server for a part of the stored file that the work is about. */
const part = (start: number, end: number): Promise<Uint8Array> => {
  const given = Promise.withResolvers<Uint8Array>()
  const question: PartAsked = { part: parts++, start, end }
  asked.set(question.part, given)
  process.send?.(question)
  return given.promise
}

const take = ({ part: number, bytes }: PartGiven): void => {
  const waiting = asked.get(number)
  asked.delete(number)
  if (bytes === undefined) waiting?.reject(new Error('the part cannot be read'))
  else waiting?.resolve(bytes)
}

const answerTo = async ({ product, inputs, bytes }: Work): Promise<WorkReply> => {
  try {
    const load = makes[product]
    if (load === undefined) throw new Error(`no product ${product}`)
    const make = await load()
    return { made: await make(inputs, bytes ?? new Uint8Array(), part) }
  } catch (thrown) {
    return thrown instanceof WrongInput
      ? { wrong: { field: thrown.field, message: thrown.message } }
      : { broken: messageOf(thrown) }
  }
}

process.on('message', async (message: Work | PartGiven) => {
  if ('part' in message) take(message)
  else process.send?.(await answerTo(message))
})
// Libraries leave rejected promises behind when a file is damaged; the work itself still ends, or its time limit ends
// it.
process.on('unhandledRejection', () => undefined)
process.on('disconnect', () => process.exit(0))
