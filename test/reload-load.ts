/**
 * A server whose turnpike.yaml and vendor's key change again and again while streams are open and calls run. It records
 * what each call cost, under which prices it began, and what was lost. For the test and for `bench/reload.ts`.
 */
import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fetchAgain } from './late-ledger.ts'
import { runProgram, type Settings, startProgram } from './program.ts'
import { until } from './until.ts'

/**
 * 1,000 tokens of input at a dollar and 300 of output at ten dollars a million: the cost of a call at the first prices.
 */
const usage = { prompt_tokens: 1_000, completion_tokens: 300, total_tokens: 1_300 }
/** In nano-USD; the second prices are twice the first, and no mixture of the two is a multiple of it. */
export const COST = 4_000_000n
const TOKEN = 'a-token-for-the-metrics'

const event = (choices: object[], more: object = {}) =>
  new TextEncoder().encode(
    `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices, ...more })}\n\n`,
  )

async function* words(released: Promise<void>) {
  yield event([{ index: 0, delta: { content: 'first' }, finish_reason: null }])
  await released
  yield event([{ index: 0, delta: { content: ' last' }, finish_reason: 'stop' }])
  yield event([], { usage })
  yield new TextEncoder().encode('data: [DONE]\n\n')
}

/** Answers whole calls at once; sends streams their first word at once, and the rest on command. */
export const startVendor = () => {
  const keys = new Set<string>()
  let gate = Promise.withResolvers<void>()
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    fetch: async (request) => {
      keys.add(request.headers.get('authorization') ?? '')
      const { stream } = (await request.json()) as { stream?: boolean }
      if (stream === true)
        return new Response(words(gate.promise) as never, {
          headers: { 'content-type': 'text/event-stream' },
        })
      const choices = [{ index: 0, message: { role: 'assistant', content: 'whole' }, finish_reason: 'stop' }]
      return Response.json({ id: 'c', object: 'chat.completion', created: 1, model: 'm', choices, usage })
    },
  })
  return {
    url: `http://127.0.0.1:${server.port}/v1`,
    /** Keys in its requests since the last call of this. */
    keysSince: (): readonly string[] => {
      const seen = [...keys].sort()
      keys.clear()
      return seen
    },
    release: (): void => {
      gate.resolve()
      gate = Promise.withResolvers()
    },
    stop: () => server.stop(true),
  }
}

/** The file with the first or the second prices. */
export const fileWith = (vendor: string, times: number): string =>
  `vendors:
  mock:
    base_url: ${vendor}
    models:
      m: { input_usd_per_1m: "${times}", output_usd_per_1m: "${10 * times}", context_tokens: 100000, max_output_tokens: 400 }
`

/** Replaces a file in one step. */
export const putFile = (path: string, text: string): void => {
  writeFileSync(`${path}.new`, text)
  renameSync(`${path}.new`, path)
}

export type Paid = {
  /** In nano-USD. */
  readonly cost: bigint
  /** The prices from its start to its end, if none changed meanwhile; of a stream: at its start. */
  readonly times: number | undefined
}

/** A server with its vendor; the test changes its prices, and its calls are paid. */
export const startReloading = async (
  home: string,
  settings: Settings,
  { processes = 1, keepalive = false } = {},
) => {
  const vendor = startVendor()
  const [yaml, keyFile] = [join(home, 'turnpike.yaml'), join(home, 'mock-key')]
  putFile(yaml, fileWith(vendor.url, 1))
  putFile(keyFile, 'key-1')
  const all: Settings = {
    PLAN_RPM: '1000000',
    KEY_SHARE_PERCENT: '100',
    CONFIG_WATCH: 'off',
    LOG: 'off',
    METRICS_TOKEN: TOKEN,
    MOCK_API_KEY_FILE: keyFile,
    ...settings,
  }
  const { child, address, token } = await startProgram(home, all)
  const command = (...args: string[]) => runProgram(home, all, ...args, '--address', address)
  const state = { times: 1, changing: 0, changes: 0 }

  const metric = async (name: string): Promise<number> => {
    const answer = await fetch(`${address}/metrics`, {
      headers: { authorization: `Bearer ${TOKEN}` },
      keepalive: false,
    })
    const text = await answer.text()
    return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1] ?? Number.NaN)
  }
  await until(async () => (await metric('turnpike_processes')) === processes)

  /** Other prices and another key, by the signal or by the command. */
  const change = async (by: 'SIGHUP' | 'apply'): Promise<void> => {
    const times = 3 - state.times
    const before = await metric('turnpike_config_reloads_total')
    state.changing++
    putFile(keyFile, `key-${times}`)
    putFile(yaml, fileWith(vendor.url, times))
    if (by === 'SIGHUP') {
      child.kill('SIGHUP')
      await until(async () => (await metric('turnpike_config_reloads_total')) === before + processes)
    } else {
      const { code, out, errors } = await command('config', 'apply')
      if (code !== 0 || !out.includes('model mock/m')) throw new Error(`${code} ${out} ${errors}`)
    }
    state.times = times
    state.changes++
    state.changing--
  }

  const ask = (stream: boolean): Promise<Response> =>
    fetchAgain(`${address}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      body: JSON.stringify({ model: 'mock/m', stream, messages: [{ role: 'user', content: 'hi' }] }),
      // Without it on a connection of its own, and so at any of the processes.
      keepalive,
    })

  const call = async (): Promise<Paid> => {
    const { changes } = state
    const still = state.changing === 0
    const { times } = state
    const answer = await ask(false)
    const text = await answer.text()
    if (answer.status !== 200 || !text.includes('whole')) throw new Error(`${answer.status} ${text}`)
    const cost = nanoOf(answer.headers.get('x-cost-usd') ?? '')
    return { cost, times: still && state.changing === 0 && state.changes === changes ? times : undefined }
  }

  /** Resolves when the stream has begun; its end waits for the vendor's release. */
  const stream = async (): Promise<{ readonly ended: Promise<Paid> }> => {
    const { changes } = state
    const still = state.changing === 0
    const { times } = state
    const answer = await ask(true)
    const reader = (answer.body as ReadableStream<Uint8Array>).getReader()
    const decoder = new TextDecoder()
    let text = ''
    const more = async (): Promise<boolean> => {
      const { done, value } = await reader.read()
      text += decoder.decode(value, { stream: !done })
      return !done
    }
    while (!text.includes('first') && (await more()));
    const began = still && state.changing === 0 && state.changes === changes ? times : undefined
    const rest = async (): Promise<Paid> => {
      while (await more());
      const cost = /: x-cost-usd: ([\d.]+)/.exec(text)?.[1]
      if (answer.status !== 200 || !text.includes('[DONE]') || cost === undefined)
        throw new Error(`${answer.status} ${text}`)
      return { cost: nanoOf(cost), times: began }
    }
    return { ended: rest() }
  }
  /** Reads the caller's own key from the ledger, as each request of this address does. */
  const ownKey = () =>
    fetchAgain(`${address}/v1/key/wholesale/me`, { headers: { authorization: `Bearer ${token}` } })
  return { ownKey, vendor, child, address, yaml, settings: all, state, command, metric, change, call, stream }
}

const nanoOf = (usd: string): bigint => {
  const [whole = '0', part = ''] = usd.split('.')
  return BigInt(whole) * 1_000_000_000n + BigInt(part.padEnd(9, '0').slice(0, 9))
}

/** Whether a call was charged by the prices it began with, or, where they were changing, by either. */
export const isExact = ({ cost, times }: Paid): boolean =>
  times === undefined ? cost === COST || cost === 2n * COST : cost === BigInt(times) * COST
