/**
 * The process that does the work of built-in products, one piece at a time. It is a separate process for two reasons: a
 * thread in a WebAssembly loop cannot be stopped, and a file that makes a library use up all memory must not take the
 * server down.
 */
import { setPriority } from 'node:os'
import { messageOf } from '../../core/message-of.ts'
import { moduleAt } from '../own-program.ts'
import { makes } from './makes.ts'
import { type Work, type WorkReply, WrongInput } from './work.ts'

// On a machine short of cores, other people's calls come first.
setPriority(10)
new Worker(moduleAt('transport/local-media/guard.ts'))

const answerTo = async ({ product, inputs, bytes }: Work): Promise<WorkReply> => {
  try {
    const load = makes[product]
    if (load === undefined) throw new Error(`no product ${product}`)
    const make = await load()
    return { made: await make(inputs, bytes ?? new Uint8Array()) }
  } catch (thrown) {
    return thrown instanceof WrongInput
      ? { wrong: { field: thrown.field, message: thrown.message } }
      : { broken: messageOf(thrown) }
  }
}

process.on('message', async (work: Work) => void process.send?.(await answerTo(work)))
// Libraries leave rejected promises behind when a file is damaged; the work itself still ends, or its time limit ends
// it.
process.on('unhandledRejection', () => undefined)
process.on('disconnect', () => process.exit(0))
