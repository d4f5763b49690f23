/** Errors in each dialect's own shape, before an answer and inside a stream. */
import { expect, test } from 'bun:test'
import { callerIds, clients } from '../../test/dialects/clients.ts'
import { closing, context, stepsOf } from '../../test/dialects/steps.ts'
import { type RefusalCode, refuse } from '../core/refusal.ts'
import { refusalTable } from '../core/refusal-table.ts'
import { callerDialects } from './index.ts'
import { translatedRelay } from './translate/translate-stream.ts'

const codes = Object.keys(refusalTable) as RefusalCode[]

test.each(codes)('%s in every dialect', (code) => {
  const { status } = refusalTable[code]
  const refusal = refuse(code, 'no', { members: { param: 'model' } })
  const [chat, messages, gemini, responses, interactions, cohere, ollama] = callerIds.map(
    (caller) => callerDialects[caller].refusal(refusal, 'req-1') as any,
  )
  const spec = { message: 'no', type: refusalTable[code].type, code, param: 'model', request_id: 'req-1' }
  expect(chat).toEqual({ error: spec })
  expect(responses).toEqual({ error: spec })
  expect(interactions).toEqual({ error: spec })
  expect(cohere).toEqual({ id: 'req-1', ...spec })
  const { message, ...members } = spec
  expect(ollama).toEqual({ error: message, ...members })
  // The client libraries choose their error class by these words.
  const types: Record<number, string> = {
    400: 'invalid_request_error',
    401: 'authentication_error',
    402: 'billing_error',
    403: 'permission_error',
    404: 'not_found_error',
    405: 'invalid_request_error',
    408: 'invalid_request_error',
    409: 'conflict_error',
    413: 'request_too_large',
    415: 'invalid_request_error',
    426: 'invalid_request_error',
    410: 'invalid_request_error',
    412: 'invalid_request_error',
    421: 'invalid_request_error',
    429: 'rate_limit_error',
    431: 'invalid_request_error',
    500: 'api_error',
    503: 'overloaded_error',
  }
  expect(messages).toEqual({ type: 'error', error: { ...spec, type: types[status] }, request_id: 'req-1' })
  expect(gemini.error.code).toBe(status)
  expect(gemini.error.status).toMatch(/^[A-Z_]+$/)
  expect(gemini.error.message).toBe('no')
  expect(gemini.error.details).toEqual([
    {
      '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
      reason: code,
      domain: 'turnpike',
      metadata: { param: 'model', request_id: 'req-1' },
    },
  ])
})

const error = {
  message: 'The vendor failed.',
  type: 'service_unavailable',
  code: 'upstream_error',
  request_id: 'r',
}
const reply = {
  id: 'i',
  model: 'm',
  choices: [{ parts: [{ type: 'text' as const, text: 'half' }], finish: 'stop' as const }],
}

test.each(callerIds)('%s: an error in mid-stream, after some text and before any', (caller) => {
  for (const steps of [[], stepsOf(reply).filter(({ type }) => type !== 'finish')]) {
    const relay = translatedRelay(() => steps, callerDialects[caller].streamWriter(context(), false))
    const body = relay.follow({ data: '-', bytes: new Uint8Array() }) ?? new Uint8Array()
    const seen = clients[caller].stream(Buffer.concat([body, closing(relay.fail(error))]))
    expect([seen.text, seen.ended]).toEqual([steps.length === 0 ? '' : 'half', false])
    const shapes = {
      chat: error,
      messages: { ...error, type: 'api_error' },
      gemini: { code: 503, status: 'UNAVAILABLE', message: error.message },
      interactions: { code: 'upstream_error', message: error.message },
      cohere: { finish_reason: 'ERROR', error: error.message, details: { code: 'upstream_error' } },
      ollama: { error: error.message, code: 'upstream_error' },
      responses: { type: 'error', code: 'upstream_error', message: error.message, param: null },
    }
    expect(seen.error).toMatchObject(shapes[caller])
  }
})

test('an error in the middle of a JSON list leaves a list', () => {
  const relay = translatedRelay(() => stepsOf(reply), callerDialects.gemini.streamWriter(context(), true))
  const body = relay.follow({ data: '-', bytes: new Uint8Array() }) ?? new Uint8Array()
  const list = JSON.parse(Buffer.concat([body, closing(relay.fail(error))]).toString())
  expect(list.at(-1).error.status).toBe('UNAVAILABLE')
})
