/** The cost of a server's process, and a load that is counted call by call. */
import { readFileSync } from 'node:fs'
import { type RawClient, rawClient } from './raw-client.ts'
import type { Server } from './servers.ts'

const TICKS_A_SECOND = 100

/** CPU seconds of a server so far, user and system, all threads. */
export const cpuSeconds = (server: Server): number =>
  server.pids.reduce((sum, pid) => {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /, '')
      .split(' ')
    return sum + (Number(fields[11]) + Number(fields[12])) / TICKS_A_SECOND
  }, 0)

export const residentMb = (server: Server): number =>
  server.pids.reduce(
    (sum, pid) =>
      sum + Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? '0') / 1024,
    0,
  )

export type Sample = {
  readonly calls: number
  readonly seconds: number
  readonly cpuMicros: number
  readonly p50: number
  readonly p99: number
  readonly failed: number
}

export const bodyOf = (bytes: number, more: object = {}): string =>
  JSON.stringify({
    model: 'gpt-4o-mini',
    max_tokens: 200,
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'The quick brown fox. '.repeat(Math.ceil(bytes / 21)).slice(0, bytes) },
    ],
    ...more,
  })

export const modelFor = (server: Server, body: string): string =>
  server.name.startsWith('Turnpike') ? body.replace('"gpt-4o-mini"', '"openai/gpt-4o-mini"') : body

/** A connection that sends this request to the server. */
export const clientOf = (server: Server, text: string): Promise<RawClient> =>
  rawClient(server.url, server.path ?? '/v1/chat/completions', {
    headers: { 'content-type': 'application/json', authorization: 'Bearer bench', ...server.headers },
    body: Buffer.from(modelFor(server, text)),
    nextToken: server.nextToken,
  })

export const quantile = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0

/** Calls over `connections` kept connections until the time or the count is up. */
export const load = async (
  server: Server,
  text: string,
  it: { connections: number; seconds: number; calls?: number; first?: boolean },
): Promise<Sample> => {
  const clients = await Promise.all(Array.from({ length: it.connections }, () => clientOf(server, text)))
  const times: number[] = []
  let failed = 0
  const cpuBefore = cpuSeconds(server)
  const started = performance.now()
  const until = started + it.seconds * 1000
  let left = it.calls ?? Number.POSITIVE_INFINITY
  const work = async (client: RawClient): Promise<void> => {
    while (performance.now() < until && left-- > 0) {
      const got = await client.ask()
      if (got.status !== 200) failed++
      times.push(it.first === true ? got.firstMs : got.totalMs)
    }
  }
  await Promise.all(clients.map(work))
  const seconds = (performance.now() - started) / 1000
  const cpu = cpuSeconds(server) - cpuBefore
  for (const client of clients) client.close()
  times.sort((a, b) => a - b)
  return {
    calls: times.length,
    seconds,
    cpuMicros: (cpu / times.length) * 1e6,
    p50: quantile(times, 0.5),
    p99: quantile(times, 0.99),
    failed,
  }
}

export const median = (values: readonly number[]): number =>
  quantile(
    [...values].sort((a, b) => a - b),
    0.5,
  )

/** Opens many streams at once, holds them, and returns the server's memory meanwhile. */
export const openStreams = async (
  server: Server,
  count: number,
  text: string,
): Promise<{ megabytes: number; before: number; completed: number }> => {
  const clients = await Promise.all(Array.from({ length: count }, () => clientOf(server, text)))
  const before = residentMb(server)
  const all = clients.map(({ ask }) => ask().catch(() => undefined))
  let megabytes = 0
  const timer = setInterval(() => {
    megabytes = Math.max(megabytes, residentMb(server))
  }, 200)
  const done = await Promise.all(all)
  clearInterval(timer)
  for (const client of clients) client.close()
  return { megabytes, before, completed: done.filter((one) => one?.status === 200).length }
}
