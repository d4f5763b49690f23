/** What the playground asks after answers that came to their end, and after those that did not. */
import { expect, test } from 'bun:test'
import { bodyFor, noSettings } from './asked.ts'

const calls = [{ id: 'call_1', name: 'weather', arguments: '{"ci' }]
const after = (answer: { readonly error?: string }) =>
  bodyFor('m', noSettings, [
    { id: 0, text: 'The weather?', files: [], models: ['m'], answers: { m: { text: '', calls, ...answer } } },
    { id: 1, text: 'sunny', files: [], models: ['m'], answers: {} },
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

test('a model that is chosen later is told what was said before, and then goes on with its own answers', () => {
  const said = (text: string) => ({ text, calls: [] })
  const { messages } = bodyFor('late', noSettings, [
    {
      ...{ id: 0, text: 'Hello', files: [], models: ['lost', 'm'] },
      answers: { lost: { ...said('I'), error: 'Stopped.' }, m: said('I am m') },
    },
    {
      ...{ id: 1, text: 'And you?', files: [], models: ['m', 'late'] },
      answers: { m: said('Still m'), late: said('I am late') },
    },
    { id: 2, text: 'Bye', files: [], models: ['m', 'late'], answers: {} },
  ])
  expect(messages).toEqual([
    { role: 'user', content: 'Hello' },
    { role: 'assistant', content: 'I am m' },
    { role: 'user', content: 'And you?' },
    { role: 'assistant', content: 'I am late' },
    { role: 'user', content: 'Bye' },
  ])
})
