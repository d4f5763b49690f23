/** Speech and music: what we send to each vendor, and what each of its answers means. */
import { expect, test } from 'bun:test'
import { delta, events } from '../../test/vendor-answers/speech.ts'
import { verdictOf } from '../../test/vendor-media.ts'

test('the pieces of a sound are put together', () => {
  const reply = events(delta, delta, { type: 'speech.audio.done' })
  const verdict = verdictOf('openai/gpt-4o-mini-tts', { input: 'Hi' }, reply)
  expect(verdict).toMatchObject({
    outputs: [{ type: 'audio', from: { bytes: new Uint8Array([73, 68, 51, 73, 68, 51]) } }],
  })
})
