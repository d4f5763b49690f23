/** Which model was probably meant by a name that is not sold. */
import { expect, test } from 'bun:test'
import { vendors } from '../vendors/index.ts'
import { buildCatalogue } from './catalogue.ts'
import { nearestModel } from './spelling.ts'

const catalogue = buildCatalogue({
  vendors: vendors.map(({ id, shortIds }) => ({ id, shortIds: shortIds === true })),
  extra: [],
  overrides: {},
  markup: '1',
  discount: '0.5',
  now: () => Date.parse('2026-11-21'),
})

test.each([
  ['claude-sonnet-4.5', 'anthropic/claude-sonnet-4-5'],
  ['anthropic/claude-sonnet-4.5', 'anthropic/claude-sonnet-4-5'],
  ['Claude-Opus-5', 'anthropic/claude-opus-5'],
  ['openai/text-embedding-3-smalll', 'openai/text-embedding-3-small'],
  ['text-embedding-3-smalll', 'openai/text-embedding-3-small'],
  ['openai/gpt-4o-minil', 'openai/gpt-4o-mini'],
  ['gpt-4o-mini-2024-07-18', 'openai/gpt-4o-mini'],
  ['google/claude-opus-5', 'anthropic/claude-opus-5'],
  ['gemini-3.8-flsh', 'google/gemini-3.8-flash'],
  ['groq/llama-3.1-8b-instnat', 'groq/llama-3.1-8b-instant'],
  ['o9', undefined],
  ['something/else-entirely', undefined],
  ['x'.repeat(5_000), undefined],
])('%s → %s', (name, id) => {
  expect(nearestModel(name, catalogue)).toBe(id)
})

const letters = (id: string | undefined) => id?.toLowerCase().replaceAll(/[^a-z0-9]/g, '')

test('every model is found again by its own name as others write it', () => {
  for (const { id, cheaper } of catalogue.list().filter((_model, index) => index % 7 === 0))
    if (cheaper === undefined) {
      const found = nearestModel(id.toUpperCase().replaceAll('.', '-'), catalogue)
      expect([id, letters(found)]).toEqual([id, letters(id)])
    }
})
