/** Names of products for agents: short, in safe letters, and different for any two products. */
import { expect, test } from 'bun:test'
import { namesOf } from './shelf.ts'

test('ids that would have the same name get different ones, and long ones are cut', () => {
  const long = `fal/${'very-long-'.repeat(12)}`
  const ids = ['a/b.c', 'a/b-c', 'a/b/c', 'a-b/c', long, `${long}2`, 'x/get_run']
  const names = namesOf(ids, ['x_get_run'])
  const slugs = ids.map((id) => names.get(id)?.slug)
  const tools = ids.map((id) => names.get(id)?.tool ?? '')
  expect([new Set(slugs).size, new Set(tools).size]).toEqual([ids.length, ids.length])
  for (const tool of tools) expect(tool).toMatch(/^[a-zA-Z0-9_-]{1,64}$/)
  expect([slugs[0], tools[0], tools[3]]).toEqual(['a-b-c', 'a_b-c', 'a-b_c'])
  expect(tools).not.toContain('x_get_run')
})

test('names do not depend on what else is sold, but for those that clash', () => {
  const alone = namesOf(['together/black-forest-labs/FLUX.1-schnell'], [])
  expect(alone.get('together/black-forest-labs/FLUX.1-schnell')).toEqual({
    slug: 'together-black-forest-labs-FLUX-1-schnell',
    tool: 'together_black-forest-labs-FLUX-1-schnell',
  })
})
