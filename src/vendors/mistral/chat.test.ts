/** What Mistral's chat completions refuse as unknown is not sent to them in calls of other dialects. */
import { expect, test } from 'bun:test'
import { bodyFor, codecOf } from '../../../test/dialects/codecs.ts'
import { Refusal } from '../../core/refusal.ts'
import { mistral } from './mistral.ts'

const change = { traits: mistral, model: { upstreamName: 'mistral-large-latest' } }

test('who asks is not told, as clients of messages tell it in every call', () => {
  const request = {
    model: 'a/b',
    max_tokens: 100,
    metadata: { user_id: 'user_1' },
    messages: [{ role: 'user', content: 'hi' }],
  }
  expect(bodyFor('messages', 'chat', request, change)).toEqual({
    model: 'mistral-large-latest',
    messages: [{ role: 'user', content: 'hi' }],
    max_tokens: 100,
  })
  const codec = codecOf('messages', 'chat', request, change)
  expect(codec instanceof Refusal ? codec : codec.notCarried).toEqual(['user'])
})

test('a seed goes under its own name, and probabilities of tokens are not asked for', () => {
  const request = {
    contents: [{ role: 'user', parts: [{ text: 'hi' }] }],
    generationConfig: { seed: 7, responseLogprobs: true, logprobs: 2 },
  }
  expect(bodyFor('gemini', 'chat', request, change)).toEqual({
    model: 'mistral-large-latest',
    messages: [{ role: 'user', content: 'hi' }],
    random_seed: 7,
  })
  const codec = codecOf('gemini', 'chat', request, change)
  expect(codec instanceof Refusal ? codec : codec.notCarried).toEqual(['logprobs'])
  expect(bodyFor('gemini', 'chat', request)).toMatchObject({ seed: 7, logprobs: true, top_logprobs: 2 })
})
