/**
 * The process that does the work of built-in products: one piece at a time, in a process of its own, because a thread in
 * a loop of WebAssembly cannot be ended, and a file that makes a library take all memory must not take the server with it.
 */
import { setPriority } from 'node:os'
import { messageOf } from '../../core/message-of.ts'
import { moduleAt } from '../own-program.ts'
import { type Answered, type Work, WrongInput } from './made.ts'
import { makes } from './makes.ts'

// Calls of others come first where the machine is short of cores.
setPriority(10)
new Worker(moduleAt('transport/local-media/guard.ts'))

const answerTo = async ({ product, inputs, bytes }: Work): Promise<Answered> => {
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
// Libraries leave promises behind when a file is damaged; the work itself still ends, or is ended by its time.
process.on('unhandledRejection', () => undefined)
process.on('disconnect', () => process.exit(0))
