/** What the playground asks after answers that came to their end, and after those that did not. */
import { expect, test } from 'bun:test'
import { bodyFor, noSettings } from './asked.ts'

const calls = [{ id: 'call_1', name: 'weather', arguments: '{"ci' }]
const after = (answer: { readonly error?: string }) =>
  bodyFor('m', noSettings, [
    { id: 0, text: 'The weather?', files: [], answers: { m: { text: '', calls, ...answer } } },
    { id: 1, text: 'sunny', files: [], answers: {} },
  ]).messages

test('a message after a call of a tool is its result; after one that was stopped it is a message', () => {
  expect(after({})).toMatchObject([
    { role: 'user' },
    { role: 'assistant' },
    { role: 'tool', content: 'sunny' },
  ])
  expect(after({ error: 'Stopped.' })).toEqual([
    { role: 'user', content: 'The weather?' },
    { role: 'user', content: 'sunny' },
  ])
})
