/** The errors for inputs that a product does not take. */
import { expect, test } from 'bun:test'
import { z } from 'zod'
import { Refusal } from '../core/refusal.ts'
import { readInputs } from './inputs.ts'

const inputs = z.strictObject({
  prompt: z.string().min(2).max(4),
  size: z.enum(['small', 'large']).default('small'),
  steps: z.int().min(1).max(8).optional(),
  images: z
    .array(z.strictObject({ url: z.string() }))
    .max(1)
    .optional(),
})

test.each([
  [{}, 'inputs.prompt', "'inputs.prompt' is required."],
  [{ prompt: 1 }, 'inputs.prompt', "'inputs.prompt' must be a string."],
  [{ prompt: 'a' }, 'inputs.prompt', "'inputs.prompt' must have at least 2 characters."],
  [{ prompt: 'abcde' }, 'inputs.prompt', "'inputs.prompt' must have at most 4 characters."],
  [{ prompt: 'abc', size: 'big' }, 'inputs.size', "'inputs.size' must be one of small, large."],
  [{ prompt: 'abc', steps: 9 }, 'inputs.steps', "'inputs.steps' must be at most 8."],
  [{ prompt: 'abc', steps: null }, 'inputs.steps', "'inputs.steps' must be a number."],
  [{ prompt: 'abc', images: [{}] }, 'inputs.images.0.url', "'inputs.images.0.url' is required."],
  [
    { prompt: 'abc', images: [{ url: '' }, { url: '' }] },
    'inputs.images',
    "'inputs.images' must hold at most 1 items.",
  ],
  [{ promt: 'abc' }, 'inputs.promt', "'inputs.promt' is not an input of this model. Did you mean 'prompt'?"],
  [
    { prompt: 'abc', stps: 3 },
    'inputs.stps',
    "'inputs.stps' is not an input of this model. Did you mean 'steps'?",
  ],
])('%j is refused at %s', (given, param, message) => {
  const refused = readInputs({ inputs }, given)
  expect(refused).toBeInstanceOf(Refusal)
  expect(refused).toMatchObject({ message, members: { param } })
})
