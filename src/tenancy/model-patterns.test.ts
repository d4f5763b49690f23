/** Globs of models: what they match, and that no pattern makes matching slow. */
import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { Refusal } from '../core/refusal.ts'
import { allowsModel, withModelIds } from './model-patterns.ts'
import { coversPattern, matches } from './pattern.ts'

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

// A matcher that backtracks at each star would not end.
test('a pattern of many stars is matched', () => {
  expect(matches(`${'a*'.repeat(100)}b`, 'a'.repeat(200))).toBe(false)
})

const plain = (id: string) => ({ id })

test('what is blocked is not allowed, whatever the list says; an empty list allows nothing', () => {
  expect(allowsModel({}, plain('a/b'))).toBe(true)
  expect(allowsModel({ allowedModels: [] }, plain('a/b'))).toBe(false)
  expect(allowsModel({ allowedModels: ['a/*'], blockedModels: ['*/b'] }, plain('a/b'))).toBe(false)
  expect(allowsModel({ blockedModels: ['*/c'] }, plain('a/b'))).toBe(true)
})

test('a discounted twin follows its model, and can be named by itself', () => {
  const twin = { id: 'a/bl', cheaper: { tier: 'flex', price: { rates: {}, tiers: [], version: '' } } }
  expect(allowsModel({ allowedModels: ['a/b'] }, twin)).toBe(true)
  expect(allowsModel({ blockedModels: ['a/b'] }, twin)).toBe(false)
  expect(allowsModel({ allowedModels: ['a/*'], blockedModels: ['a/b'] }, twin)).toBe(false)
  expect(allowsModel({ blockedModels: ['a/bl'] }, twin)).toBe(false)
  expect(allowsModel({ blockedModels: ['a/bl'] }, plain('a/b'))).toBe(true)
  expect(allowsModel({ allowedModels: ['a/bl'] }, plain('a/b'))).toBe(false)
  // A model whose own name ends in l is nobody's twin.
  expect(allowsModel({ allowedModels: ['a/b'] }, plain('a/bl'))).toBe(false)
})

test('patterns are kept as ids, and one that matches nothing is refused by its name', () => {
  const models = ['a/one', 'a/two', 'b/two-b'].map((id) => ({
    id,
    vendor: id.slice(0, 1),
  }))
  const short = new Map(
    models.filter(({ vendor }) => vendor === 'a').map((model) => [model.id.slice(2), model]),
  )
  const find = (name: string) => short.get(name) ?? models.find(({ id }) => id === name)
  const sold = { find, list: () => models } as unknown as Parameters<typeof withModelIds>[1]
  const kept = (allowedModels: readonly string[] | null) => {
    const change = withModelIds({ allowedModels }, sold)
    return change instanceof Refusal
      ? [change.code, change.members.param, change.message]
      : change.allowedModels
  }
  expect(kept(['one', 'a/two', 'b/*'])).toEqual(['a/one', 'a/two', 'b/*'])
  expect(kept(['t*', 'two', '*two*'])).toEqual(['a/two', '*two*'])
  expect(kept([])).toEqual([])
  expect(kept(null)).toBe(null)
  for (const wrong of ['three', 'c/*', 'A/one', 'a/o?'])
    expect(kept(['one', wrong])).toEqual([
      'invalid_parameter',
      'allowed_models',
      `'allowed_models': '${wrong}' matches no model that is sold here; nothing was changed.`,
    ])
  expect(withModelIds({ blockedModels: ['three'] }, sold)).toBeInstanceOf(Refusal)
  expect(withModelIds({ perCallMax: 5n }, sold)).toEqual({ perCallMax: 5n })
})

test('what a pattern covers, it matches: nobody gives more than they have', () => {
  const letters = fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 5 })
  const globs = fc.string({ unit: fc.constantFrom('a', 'b', '*', '?'), maxLength: 5 })
  fc.assert(
    fc.property(globs, globs, letters, (wide, narrow, text) => {
      if (coversPattern(wide, narrow) && matches(narrow, text)) expect(matches(wide, text)).toBe(true)
    }),
    { numRuns: 5_000 },
  )
  expect([coversPattern('a/*', 'a/b*'), coversPattern('a/b*', 'a/*'), coversPattern('a?', 'a*')]).toEqual([
    true,
    false,
    false,
  ])
})
