/** Transcription: what we send to each vendor, and what each of its answers means. */
import { expect, test } from 'bun:test'
import { file, timed } from '../../test/vendor-answers/transcription.ts'
import { sentOf, verdictOf } from '../../test/vendor-media.ts'

test('a translation is asked at its own address, without what it does not take', () => {
  expect(sentOf('openai/whisper-1', { file, task: 'translate', language: 'de' })).toEqual({
    ...timed('whisper-1'),
    path: '/audio/translations',
  })
})

test('times come from segments, or from words put together', () => {
  const segments = [{ id: 0, start: 0, end: 1, text: ' Hello.' }]
  expect(verdictOf('groq/whisper-large-v3', { file }, { json: { text: 'Hello.', segments } })).toMatchObject({
    transcript: { text: 'Hello.', segments: [{ start: 0, end: 1, text: ' Hello.' }] },
  })
  const words = [
    { word: 'hello', punctuated_word: 'Hello.', start: 0.1, end: 0.5 },
    { word: 'you', punctuated_word: 'You', start: 0.6, end: 0.8 },
    { word: 'there', punctuated_word: 'there', start: 3, end: 3.5 },
  ]
  const json = { results: { channels: [{ alternatives: [{ transcript: 'Hello. You there', words }] }] } }
  expect(verdictOf('deepgram/nova-3', { file, timestamps: 'word' }, { json })).toMatchObject({
    transcript: {
      segments: [
        { start: 0.1, end: 0.5, text: 'Hello.' },
        { start: 0.6, end: 0.8, text: 'You' },
        { start: 3, end: 3.5, text: 'there' },
      ],
      words: [{ text: 'Hello.' }, { text: 'You' }, { text: 'there' }],
    },
  })
})
