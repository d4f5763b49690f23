/** What the tests of vendors that deliver texts and facts have in common: our own words for their answers. */
import type { ReplyCase } from '../vendor-media.ts'

export const failures = (bad: object, badStatus = 400): ReplyCase[] => [
  ['bad request', { status: badStatus, json: bad }, 'invalid_parameter'],
  ['rate limit', { status: 429, json: bad }, 'upstream_error'],
  ['no credits', { status: 402, json: bad }, 'upstream_error'],
  ['refused key', { status: 403, text: 'Forbidden' }, 'upstream_error'],
  ['something else', { json: { hello: 1 } }, 'broken'],
  ['no JSON', { text: '<p>' }, 'broken'],
]
export const pdf = 'data:application/pdf;base64,JVBERi0='
export const documents = ['a fox', 'a dog']
export const ranked = [{ index: 0, relevance_score: 0.9 }]
