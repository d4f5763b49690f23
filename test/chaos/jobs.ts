/** Jobs under kill -9: callers begin them at one process and ask at others, until each has ended. */
import type { Check } from './own-books.ts'
import type { View } from './view.ts'

type JobResult = { readonly status: string; readonly cost: string | undefined; readonly read: boolean }

export type JobCallers = {
  /** How each job ended, as its caller learnt. */
  readonly results: ReadonlyMap<string, JobResult>
  readonly begun: () => number
  stop(): Promise<void>
}

const CALLERS = 12
/** Another process takes up a job 15 s after its own died. */
const PATIENCE_MS = 60_000

export const startJobCallers = (
  addresses: readonly string[],
  token: string,
  random: () => number,
): JobCallers => {
  const results = new Map<string, JobResult>()
  const begun = new Set<string>()
  let running = true
  const pick = (low: number, high: number) => low + Math.floor(random() * (high - low + 1))
  const ask = (method: string, path: string, body?: object, headers: Record<string, string> = {}) =>
    fetch(`${addresses[pick(0, addresses.length - 1)]}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(20_000),
    })

  /** Asks until it has ended; undefined while nobody answers. */
  const follow = async (id: string): Promise<void> => {
    for (const until = Date.now() + PATIENCE_MS; Date.now() < until; await Bun.sleep(pick(200, 600))) {
      const run: any = await ask('GET', `/v1/run/${id}`)
        .then((response) => (response.ok ? response.json() : undefined))
        .catch(() => undefined)
      if (run === undefined || run.status === 'queued' || run.status === 'running') continue
      const url: string | undefined = run.outputs?.[0]?.url
      const read = url !== undefined && (await readable(new URL(url)))
      results.set(id, { status: run.status, cost: run.usage?.cost?.toString(), read })
      return
    }
  }

  const readable = async ({ pathname, search }: URL): Promise<boolean> => {
    for (const until = Date.now() + PATIENCE_MS; Date.now() < until; ) {
      const response = await ask('GET', pathname + search).catch(() => undefined)
      if (response?.ok) return (await response.arrayBuffer()).byteLength > 0
      await Bun.sleep(200)
    }
    return false
  }

  const work = async (): Promise<void> => {
    while (running) {
      const inputs = {
        prompt: 'a hill',
        seconds: pick(0, 5),
        outcome: random() < 0.15 ? 'failed' : 'done',
      }
      const headers = { 'idempotency-key': crypto.randomUUID(), prefer: `wait=${pick(0, 3)}` }
      for (let tries = 0; tries < 8 && running; tries++) {
        const response = await ask('POST', '/v1/run', { model: 'local/slow-1', inputs }, headers).catch(
          () => undefined,
        )
        const body: any = await response?.json().catch(() => undefined)
        const id: string | undefined = body?.id ?? body?.error?.run_id
        if (id === undefined) {
          await Bun.sleep(pick(50, 500))
          continue
        }
        begun.add(id)
        if (response?.status === 202 && random() < 0.1)
          await ask('DELETE', `/v1/run/${id}`).catch(() => undefined)
        await follow(id)
        break
      }
    }
  }
  const workers = Array.from({ length: CALLERS }, work)
  return {
    results,
    begun: () => begun.size,
    stop: async () => {
      running = false
      await Promise.all(workers)
    },
  }
}

/** Compares the runs with their charges, and with what their callers learnt. */
export const jobChecks = async ({ results }: JobCallers, view: View): Promise<Check[]> => {
  const rows = await view.rows(
    `select r.id, r.state, r.ended_at, (select count(*) from transfer t where t.kind = 'usage' and t.ref = r.id) as charges
     from run r`,
  )
  const open = rows.filter(({ ended_at: ended }) => ended === null)
  const wrong = rows.filter(({ state, charges }) => charges !== (state === 'done' ? '1' : '0'))
  const states = new Map(rows.map(({ id, state }) => [id ?? '', state]))
  const names: Readonly<Record<string, string>> = { succeeded: 'done' }
  const otherwise = [...results].filter(([id, { status }]) => states.get(id) !== (names[status] ?? status))
  const unread = [...results.values()].filter(({ status, read }) => status === 'succeeded' && !read)
  const count = (status: string) => [...results.values()].filter((one) => one.status === status).length
  return [
    ['jobs that did not end', open.length === 0, open.length],
    ['jobs charged other than once when done, and never else', wrong.length === 0, wrong.length],
    ['jobs that ended otherwise than was told', otherwise.length === 0, otherwise.length],
    ['results of charged jobs that cannot be read', unread.length === 0, unread.length],
    [
      'jobs ended',
      count('succeeded') > 0,
      `${count('succeeded')} succeeded, ${count('failed')} failed, ${count('cancelled')} cancelled, ${rows.length} in all`,
    ],
  ]
}
