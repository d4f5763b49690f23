/** What a check is, and the helpers in which checks are written. */
import type { Socket } from 'node:net'
import type { Target } from './target.ts'

export type Check = {
  readonly name: string
  /** The engine, for a check that says nothing on the other. */
  readonly engine?: 'SQLite' | 'PostgreSQL'
  /** What is made before, and counts in no budget. */
  readonly prepare?: (target: Target) => void
  readonly run: (target: Target) => Promise<void>
  /** Processor time of the server in all, in milliseconds. */
  readonly cpuMs: number
  /** Memory that the server takes beyond what it had, in megabytes. */
  readonly memoryMb: number
}

export const must = (fine: boolean, what: string): void => {
  if (!fine) throw new Error(what)
}

/** Sends a request, and wants one of these statuses. */
export const asked = async (
  target: Target,
  path: string,
  body: unknown,
  ...statuses: number[]
): Promise<void> => {
  const response = await target.ask(path, body)
  const text = await response.text()
  must(statuses.includes(response.status), `${response.status}: ${text.slice(0, 200)}`)
}

export const echo = (content: unknown, more: object = {}) => ({
  model: 'local/echo-1',
  messages: [{ role: 'user', content }],
  ...more,
})
export const chat = '/v1/chat/completions'
export const statusOf = (reply: string): number => Number(/HTTP\/1\.1 (?!100)(\d+)/.exec(reply)?.[1] ?? 0)
export const times = <T>(count: number, make: (at: number) => T): T[] =>
  Array.from({ length: count }, (_, at) => make(at))

/** Waits until this many connections have the beginning of an answer. */
export const heard = (sockets: readonly Socket[], count: number): Promise<void> =>
  new Promise((resolve) => {
    let answered = 0
    for (const socket of sockets)
      socket.once('data', () => {
        if (++answered === count) resolve()
      })
  })
