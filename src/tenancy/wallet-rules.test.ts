/** Globs of models: what they match, and that no pattern makes matching slow. */
import { expect, test } from 'bun:test'
import { allowsModel, matches } from './wallet-rules.ts'

test.each([
  ['*', 'openai/gpt-5', true],
  ['openai/*', 'openai/gpt-5', true],
  ['openai/*', 'openai', false],
  ['*/gpt-5', 'openai/gpt-5', true],
  ['*/gpt-5', 'openai/gpt-5-mini', false],
  ['openai/gpt-?', 'openai/gpt-5', true],
  ['openai/gpt-?', 'openai/gpt-', false],
  ['*mini*', 'openai/gpt-5-mini-2026', true],
  ['a*b*c', 'aXbXbXc', true],
  ['a*b*c', 'aXbXbX', false],
  ['openai/gpt.5', 'openai/gpt-5', false],
  ['OpenAI/*', 'openai/gpt-5', false],
  ['', '', true],
  ['**', '', true],
])('%s matches %s: %p', (pattern, text, expected) => {
  expect(matches(pattern, text)).toBe(expected)
})

test('a pattern of many stars is matched in time that a request does not notice', () => {
  const started = performance.now()
  expect(matches(`${'a*'.repeat(100)}b`, 'a'.repeat(200))).toBe(false)
  expect(performance.now() - started).toBeLessThan(50)
})

test('what is blocked is not allowed, whatever the list says; an empty list allows nothing', () => {
  expect(allowsModel({}, 'a/b')).toBe(true)
  expect(allowsModel({ allowedModels: [] }, 'a/b')).toBe(false)
  expect(allowsModel({ allowedModels: ['a/*'], blockedModels: ['*/b'] }, 'a/b')).toBe(false)
  expect(allowsModel({ blockedModels: ['*/c'] }, 'a/b')).toBe(true)
})
