/** What the tests of vendors that deliver sounds have in common: our own words for their answers. */
import type { ReplyCase } from '../vendor-media.ts'

export const sound = new Uint8Array([73, 68, 51, 4])
export const ok = (headers: Record<string, string> = {}) => ({
  headers: { 'content-type': 'audio/mpeg', ...headers },
  bytes: sound,
})
export const failures = (bad: object, rest: Record<number, object> = {}): ReplyCase[] => [
  ['bad request', { status: 400, json: bad }, 'invalid_parameter'],
  ['rate limit', { status: 429, json: rest[429] ?? bad }, 'upstream_error'],
  ['no credits', { status: 402, json: rest[402] ?? bad }, 'upstream_error'],
  ['a page in place of a sound', { headers: { 'content-type': 'text/html' }, text: '<p>' }, 'broken'],
  ['an empty sound', { headers: { 'content-type': 'audio/mpeg' }, text: '' }, 'broken'],
]

export const events = (...all: object[]) => ({
  headers: { 'content-type': 'text/event-stream' },
  text: all.map((one) => `data: ${JSON.stringify(one)}\n\n`).join(''),
})
export const delta = { type: 'speech.audio.delta', audio: 'SUQz' }
export const detail = (status: string) => ({ detail: { status, message: 'no' } })
export const base = (status_code: number) => ({ json: { base_resp: { status_code, status_msg: 'no' } } })
