/** Batches under kill -9: callers begin them at one process and ask at others; their vendors run some lines in batches of their own. */
import type { Check } from './own-books.ts'
import type { Order } from './upstream.ts'
import type { View } from './view.ts'

/** What a caller read of a batch that ended: its lines by their names, and how often each was there. */
type Read = { readonly lines: number; readonly names: readonly string[]; readonly nano: bigint }

export type BatchCallers = {
  readonly read: ReadonlyMap<string, Read>
  stop(): Promise<void>
}

const CALLERS = 3
const LINES_MOST = 30
/** Another process takes up a batch 15 s after its own died; and its vendor's part is asked for now and then. */
const PATIENCE_MS = 120_000
/** Lines of the first run here, those of the second in the vendor's own batches. */
const MODELS = ['mock/m', 'openai/gpt-5-mini']

export const startBatchCallers = (
  addresses: readonly string[],
  token: string,
  random: () => number,
): BatchCallers => {
  const read = new Map<string, Read>()
  let running = true
  const pick = (low: number, high: number) => low + Math.floor(random() * (high - low + 1))
  const ask = (
    method: string,
    path: string,
    body?: object | FormData,
    headers: Record<string, string> = {},
  ) =>
    fetch(`${addresses[pick(0, addresses.length - 1)]}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body === undefined || body instanceof FormData ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: body instanceof FormData ? body : JSON.stringify(body) }),
      signal: AbortSignal.timeout(20_000),
    })
  /** The JSON of a good answer, asked for until there is one; undefined for a caller whose patience ended. */
  const insist = async (
    ...request: Parameters<typeof ask>
  ): Promise<{ readonly said: any; readonly text: string } | undefined> => {
    for (const until = Date.now() + PATIENCE_MS; Date.now() < until; await Bun.sleep(pick(100, 600))) {
      const response = await ask(...request).catch(() => undefined)
      const text = await response?.text().catch(() => undefined)
      if (response?.ok && text !== undefined)
        return { said: text.startsWith('{') && !text.includes('}\n{') ? JSON.parse(text) : undefined, text }
    }
    return undefined
  }

  const newFile = (count: number): FormData => {
    const model = MODELS[pick(0, 2)]
    const lines = Array.from({ length: count }, (_, n) => {
      const fail = random() < 0.05 ? 'status' : ''
      const order: Order = {
        id: crypto.randomUUID(),
        input: 20,
        output: pick(1, 60),
        delayMs: pick(0, 200),
        fail,
      }
      const body = {
        model: model ?? MODELS[pick(0, 1)],
        max_tokens: 100,
        messages: [{ role: 'user', content: JSON.stringify(order) }],
      }
      return JSON.stringify({ custom_id: `l${n}`, method: 'POST', url: '/v1/chat/completions', body })
    })
    const form = new FormData()
    form.set('purpose', 'batch')
    form.set('file', new File([lines.join('\n')], 'lines.jsonl'))
    return form
  }

  /** The lines of its files. */
  const linesOf = async (batch: any): Promise<any[]> => {
    const files = [batch.output_file_id, batch.error_file_id].filter((id) => id !== null)
    const texts = await Promise.all(files.map((id) => insist('GET', `/v1/files/${id}/content`)))
    return texts.flatMap((one) =>
      (one?.text ?? '')
        .split('\n')
        .filter((line) => line !== '')
        .map((line): any => JSON.parse(line)),
    )
  }

  /** Asks until it has ended; a caller that is to stop, or now and then another, cancels it. */
  const follow = async (id: string, count: number): Promise<void> => {
    let cancels = random() < 0.1
    for (const until = Date.now() + PATIENCE_MS; Date.now() < until; await Bun.sleep(pick(200, 900))) {
      if (cancels || !running) await ask('POST', `/v1/batches/${id}/cancel`).catch(() => undefined)
      cancels = false
      const batch = (await insist('GET', `/v1/batches/${id}`))?.said
      if (!['completed', 'cancelled', 'expired'].includes(batch?.status)) continue
      const lines = await linesOf(batch)
      const costs = lines.map(({ response }) => Math.round((response?.body.usage?.cost ?? 0) * 1e9))
      const nano = BigInt(costs.reduce((sum, cost) => sum + cost, 0))
      read.set(id.replace('batch_', ''), { lines: count, names: lines.map((one) => one.custom_id), nano })
      return
    }
  }

  const work = async (): Promise<void> => {
    while (running) {
      const count = pick(1, LINES_MOST)
      const file = (await insist('POST', '/v1/files', newFile(count)))?.said
      if (file === undefined) continue
      const onCap = random() < 0.5 ? 'refuse' : 'run_what_fits'
      const asked = { input_file_id: file.id, endpoint: '/v1/chat/completions', completion_window: '24h' }
      const headers = { 'idempotency-key': crypto.randomUUID() }
      const batch = (await insist('POST', '/v1/batches', { ...asked, on_cap: onCap }, headers))?.said
      if (batch !== undefined) await follow(batch.id, count)
    }
  }
  const workers = Array.from({ length: CALLERS }, work)
  return {
    read,
    stop: async () => {
      running = false
      await Promise.all(workers)
    },
  }
}

/** Compares the lines with their charges, and with what their callers read. */
export const batchChecks = async ({ read }: BatchCallers, view: View): Promise<Check[]> => {
  const batches = await view.rows(
    `select b.id, b.state, b.charged, (select coalesce(sum(t.amount), 0) from batch_line l
       join transfer t on t.kind = 'usage' and t.ref = l.call_id where l.batch_id = b.id) as posted from batch b`,
  )
  const lines = await view.rows(
    `select l.state, l.charged, count(t.ref) as charges, coalesce(sum(t.amount), 0) as posted from batch_line l
     left join transfer t on t.kind = 'usage' and t.ref = l.call_id group by l.batch_id, l.n, l.state, l.charged`,
  )
  const open = batches.filter(({ state }) => state !== 'ended')
  const wrong = lines.filter(
    ({ state, charged, charges, posted }) =>
      charges !== (state === 'succeeded' ? '1' : '0') || (charged ?? '0') !== posted,
  )
  const unequal = batches.filter(({ id, charged, posted }) => {
    const told = read.get(id ?? '')?.nano ?? BigInt(charged ?? 0)
    return charged !== posted || told !== BigInt(charged ?? 0)
  })
  const astray = [...read.values()].filter(
    ({ lines: count, names }) => names.length !== count || new Set(names).size !== count,
  )
  const count = (state: string) => lines.filter((line) => line.state === state).length
  return [
    ['batches that did not end', open.length === 0, open.length],
    [
      'lines of batches charged other than once with a result, and never else',
      wrong.length === 0,
      wrong.length === 0 ? 0 : JSON.stringify(wrong.slice(0, 5)),
    ],
    ['batches whose charge is not that of their lines', unequal.length === 0, unequal.length],
    ['batches with lines that came twice or never', astray.length === 0, astray.length],
    [
      'batches read to their end',
      read.size > 0,
      `${read.size} of ${batches.length}; ${count('succeeded')} lines succeeded, ${count('errored')} failed, ${count('stopped')} stopped`,
    ],
  ]
}
