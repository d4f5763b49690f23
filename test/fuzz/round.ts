/**
 * One round of the fuzzer: a fresh server, some hundred requests from a seed, and what must hold of each answer and of the
 * books behind them.
 */
import type { VendorDialectId } from '../../src/dialects/dialect.ts'
import { localFetch } from '../../src/transport/local.ts'
import { local, localModels } from '../../src/vendors/local/local.ts'
import {
  completion,
  mockVendor,
  startTestServer,
  streamEvents,
  streaming,
  type TestServer,
  testModel,
} from '../server/harness.ts'
import { brokenLaws } from '../store/engines.ts'
import { chooseFrom } from './choose.ts'
import { requestFrom } from './requests.ts'

const REQUESTS = 120
/** After these a new key comes: the one before may have been limited or revoked by what it asked. */
const REQUESTS_A_KEY = 20
/** A call that has not answered by then hangs; no busy machine takes so long. */
const PATIENCE_MS = 60_000
/** Processor time of one request: far above what any takes, far below what an attack needs. */
const CPU_MS = 500
const CPU_MS_A_MEGABYTE = 2_000

const others = ['messages', 'gemini', 'converse', 'responses'] as const satisfies readonly VendorDialectId[]

const start = async (): Promise<TestServer> => {
  const refusing = () => Promise.resolve(Response.json({ error: { message: 'no' } }, { status: 400 }))
  const server = await startTestServer({
    options: { bodyBytesMax: 5_000_000 },
    models: [
      testModel('small'),
      testModel('embed', { kind: 'embeddings', maxOutputTokens: 0 }),
      ...others.map((vendor) => testModel('small', { id: `${vendor}/small`, vendor })),
      ...localModels,
    ],
    more: [
      ...others.map((speaks) => ({
        vendor: { ...mockVendor, id: speaks, speaks },
        baseUrl: mockVendor.baseUrl,
        secrets: [],
        fetch: refusing,
      })),
      { vendor: local, baseUrl: local.baseUrl, secrets: [], fetch: localFetch },
    ],
  })
  server.answerWith(({ url, body }) => {
    if (url.endsWith('/embeddings'))
      return Response.json({
        object: 'list',
        data: [{ object: 'embedding', index: 0, embedding: [0.5] }],
        usage: { prompt_tokens: 3, total_tokens: 3 },
      })
    return body.stream === true ? streaming(streamEvents(['a', 'b'])) : completion('hello')
  })
  return server
}

type Sent = ReturnType<typeof requestFrom>

/** The request, or undefined where the platform refuses to make it: then no client can send it this way either. */
const made = ({ method, path, headers, body }: Sent): Request | undefined => {
  try {
    return new Request(`http://turnpike.test${path}`, {
      method,
      headers,
      ...(body === undefined ? {} : { body }),
    })
  } catch {
    return undefined
  }
}

/** What is wrong with an answer, if anything is. */
const wrongWith = (response: Response, text: string): string | undefined => {
  if (response.status === 500) return 'is a 500'
  if (response.headers.get('x-request-id') === null) return 'has no request id'
  if (text === '') return undefined
  const type = response.headers.get('content-type') ?? ''
  if (response.ok && type.startsWith('text/event-stream'))
    return /^(?:data|event|:)/.test(text) ? undefined : 'is no stream of events'
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return 'is not JSON'
  }
  if (response.ok) return undefined
  const body: object = Array.isArray(value) ? value[0] : value
  return body !== null && typeof body === 'object' && 'error' in body
    ? undefined
    : 'is no error of the reference'
}

const answerOf = async (server: TestServer, request: Request): Promise<string | undefined> => {
  let late: Timer | undefined
  const hangs = new Promise<string>((resolve) => {
    late = setTimeout(() => resolve(`did not come in ${PATIENCE_MS} ms`), PATIENCE_MS)
  })
  const answer = (async () => {
    const response = await server.fetch(request)
    return wrongWith(response, await response.text())
  })()
  const wrong = await Promise.race([answer, hangs])
  clearTimeout(late)
  return wrong
}

const cpuMs = (since?: NodeJS.CpuUsage) => {
  const { user, system } = process.cpuUsage(since)
  return (user + system) / 1_000
}

/** Sends it; one that took too long is sent again, as other work may have been counted with it. */
const tried = async (server: TestServer, sent: Sent): Promise<string | undefined> => {
  const budget = CPU_MS + ((sent.body?.length ?? 0) / 1_000_000) * CPU_MS_A_MEGABYTE
  let took = 0
  for (let round = 0; round < 3; round++) {
    const request = made(sent)
    if (request === undefined) return undefined
    const before = process.cpuUsage()
    const wrong = await answerOf(server, request)
    if (wrong !== undefined) return wrong
    took = cpuMs(before)
    if (took <= budget) return undefined
  }
  return `took ${took.toFixed(0)} ms of processor time, more than ${budget.toFixed(0)}`
}

/** Runs a round; tells how many requests it sent, and what was wrong. */
export const fuzzRound = async (
  seed: number,
): Promise<{ readonly sent: number; readonly wrong: readonly string[] }> => {
  const server = await start()
  const choose = chooseFrom(seed)
  const wrong: string[] = []
  let token = ''
  for (let at = 0; at < REQUESTS; at++) {
    if (at % REQUESTS_A_KEY === 0) token = (await server.newKey({}, { canManage: choose.rarely(2) })).token
    const sent = requestFrom(choose, token)
    // Nothing here waits for a network: without this the timers of the book would have no turn.
    await Bun.sleep(0)
    const found = await tried(server, sent)
    if (found !== undefined) wrong.push(`the answer ${found}: ${JSON.stringify(sent).slice(0, 2_000)}`)
  }
  const held = await server.heldAfterAll()
  if (held !== 0n) wrong.push(`${held} nano-dollars are held when all has ended`)
  for (const law of await brokenLaws(server.store)) wrong.push(`the books: ${JSON.stringify(law)}`)
  await server.stop()
  return { sent: REQUESTS, wrong }
}
