/** Vendors of jobs: what we send to each, and how each kind of answer is read, with fixtures of our own. */
import { expect, test } from 'bun:test'
import { film, ok, still } from '../../test/vendor-answers/job.ts'
import { doneOf } from '../../test/vendor-jobs.ts'

test('the answer does not repeat what was asked', () => {
  const { body } = doneOf(
    'bfl/flux-2-pro',
    { id: 'a', megapixels: 1 },
    ok({ status: 'Ready', result: { sample: still, prompt: 'a secret fox', seed: 1 } }),
  )
  expect(body).toEqual({ status: 'Ready', result: { sample: still, seed: 1 } })
  const film = doneOf(
    'google/gemini-omni-1.1-flash',
    { id: 'a' },
    ok({
      status: 'completed',
      steps: [
        { type: 'user_input', content: [{ type: 'text', text: 'a secret fox' }] },
        { type: 'model_output', content: [{ type: 'video', data: 'AAAA', mime_type: 'video/mp4' }] },
      ],
    }),
  )
  expect(JSON.stringify(film.body)).not.toMatch(/secret|AAAA/)
})

test('what the vendor billed is kept apart', () => {
  const done = doneOf(
    'xai/grok-imagine-video',
    { id: 'a', seconds: 3, pictures: 0 },
    ok({ status: 'done', video: { url: film, duration: 3 }, usage: { cost_in_usd_ticks: 1_500_000_000 } }),
  )
  expect([done.vendorCost, JSON.stringify(done.body)]).toEqual([
    150_000_000n,
    expect.not.stringContaining('usage'),
  ])
})

test('a transcript has its times in seconds', () => {
  const { transcript } = doneOf(
    'assemblyai/universal-2',
    { id: 'k2', words: true },
    ok({
      status: 'completed',
      text: 'Hi there.',
      language_code: 'en',
      audio_duration: 2,
      words: [
        { text: 'Hi', start: 10, end: 300, confidence: 1 },
        { text: 'there.', start: 320, end: 900, confidence: 1 },
      ],
    }),
  )
  expect(transcript).toEqual({
    text: 'Hi there.',
    language: 'en',
    seconds: 2,
    segments: [{ start: 0.01, end: 0.9, text: 'Hi there.' }],
    words: [
      { start: 0.01, end: 0.3, text: 'Hi' },
      { start: 0.32, end: 0.9, text: 'there.' },
    ],
  })
})
