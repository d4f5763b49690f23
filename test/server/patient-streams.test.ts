/** PostgreSQL falls silent while a stream needs more money: the stream waits for it, is kept alive, and ends whole. */
import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { until } from '../until.ts'
import { streamEvents, testModel } from './harness.ts'
import { silentServer } from './silent-rig.ts'

const journal = mkdtempSync(join(tmpdir(), 'turnpike-patient-'))
afterAll(() => rmSync(journal, { recursive: true }))
const it = silentServer({
  journal,
  models: [testModel('long', { maxOutputTokens: 20_000 })],
  options: { ledgerPatienceMs: 600_000 },
})

const WORDS = 6_000
/** A stream that has not grown for this long stands still. */
const STANDS_MS = 2_000
/** The words of all events, whatever the dialect wraps around them. */
const wordsOf = (text: string): number => text.match(/word/g)?.length ?? 0

const messages = [{ role: 'user', content: 'hi' }]
/** Those that give no bound: a call that gives one holds all of it from the start. */
const callers = [
  ['chat completions', '/v1/chat/completions', { messages }, ': keep-alive\n'],
  ['responses', '/v1/responses', { input: 'hi', store: false }, ': keep-alive\n'],
  [
    'generate content',
    '/v1beta/models/mock/long:streamGenerateContent?alt=sse',
    { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] },
    undefined,
  ],
] as const

test.each(callers)(
  'a stream waits for a ledger that is away and ends whole: %s',
  async (_name, path, body, sign) => {
    // More than a stream holds at its start.
    const events = streamEvents(Array.from({ length: WORDS }, () => ' word'))
    const gate = Promise.withResolvers<void>()
    it.server.answerWith(
      () =>
        new Response(
          (async function* () {
            yield events.slice(0, 100).join('')
            await gate.promise
            for (let from = 100; from < events.length; from += 100)
              yield events.slice(from, from + 100).join('')
          })() as never,
          { headers: { 'content-type': 'text/event-stream' } },
        ),
    )
    const stream = path.startsWith('/v1beta') ? {} : { model: 'mock/long', stream: true }
    let answer = await it.server.post(path, { ...stream, ...body })
    await until(async () => {
      if (answer.status === 200) return true
      answer = await it.server.post(path, { ...stream, ...body })
      return false
    })
    it.proxy.silence(true)
    gate.resolve()
    const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader()
    let text = ''
    const reading = (async () => {
      for (let read = await reader?.read(); read?.done === false; read = await reader?.read())
        text += read.value
    })()
    // It stands still at the end of what it holds, and its caller sees that it goes on.
    let stood = -1
    await until(async () => {
      const stands = stood === wordsOf(text) && stood > 100
      stood = wordsOf(text)
      return stands && (sign === undefined || text.slice(text.lastIndexOf('word')).includes(sign))
    }, STANDS_MS)
    expect(stood).toBeLessThan(WORDS)
    await it.backAgain(() => true)
    await reading
    expect(text.slice(-2_000)).not.toContain('"error":{')
    expect(wordsOf(text)).toBeGreaterThanOrEqual(WORDS)
    const callId = answer.headers.get('x-request-id') ?? ''
    await until(async () => (await it.store.ledger.transfersOf(callId)).length === 1)
    const [charge] = await it.store.ledger.transfersOf(callId)
    expect(charge?.kind).toBe('usage')
    expect((await it.store.ledger.audit()).filter(({ ok }) => !ok)).toEqual([])
  },
)
