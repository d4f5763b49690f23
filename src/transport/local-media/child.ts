/**
 * The process that does the work of built-in products, one piece at a time. It is a separate process for two reasons: a
 * thread in a WebAssembly loop cannot be stopped, and a file that makes a library use up all memory must not take the
 * server down.
 */
import { writeFileSync } from 'node:fs'
import { setPriority } from 'node:os'
import { dirname } from 'node:path'
import { messageOf } from '../../core/message-of.ts'
import { moduleAt } from '../own-program.ts'
import { leaveRoot } from './own-user.ts'
import { registered } from './registered.ts'
import { LENGTH, type PartAsked, type PartGiven, type Work, type WorkReply } from './work.ts'

// Where memory runs out all the same, the kernel ends this process and not the server.
try {
  writeFileSync('/proc/self/oom_score_adj', '1000')
} catch {}
leaveRoot(dirname(Bun.isStandaloneExecutable ? process.execPath : import.meta.dir))
// On a machine short of cores, other people's calls come first. Below a server that was started with less priority
// still, and in some containers, nobody may set it.
try {
  setPriority(5)
} catch {}
new Worker(moduleAt('transport/local-media/guard.ts'), { argv: process.argv.slice(-1) })

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

const loadOf = (product: string) =>
  product === LENGTH ? registered.length : registered.products.find(({ name }) => name === product)?.load

/** The input that the package blames; its errors are no class of ours. */
const wrongField = (thrown: unknown): string | undefined =>
  thrown instanceof Error && 'field' in thrown && typeof thrown.field === 'string' ? thrown.field : undefined

const answerTo = async ({ product, inputs, bytes }: Work): Promise<WorkReply> => {
  try {
    const load = loadOf(product)
    if (load === undefined) throw new Error(`no product ${product}`)
    const make = await load()
    return { made: await make(inputs, bytes ?? new Uint8Array(), part) }
  } catch (thrown) {
    const field = wrongField(thrown)
    return field === undefined
      ? { broken: messageOf(thrown) }
      : { wrong: { field, message: messageOf(thrown) } }
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
