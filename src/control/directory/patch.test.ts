/** Changes of a directory cost linear time, whatever one company sends: others wait for the same process. */
import { expect, test } from 'bun:test'
import { mustBeLinear } from '../../../test/cpu-growth.ts'
import type { Json, JsonObject } from '../../core/json-body.ts'
import { Refusal } from '../../core/refusal.ts'
import { patched, readOperations } from './patch.ts'

const change = (resource: JsonObject, ...Operations: Json[]): JsonObject =>
  patched(resource, readOperations({ Operations }))
const refused = (work: () => unknown): unknown => {
  try {
    return work()
  } catch (thrown) {
    if (thrown instanceof Refusal) return thrown.message
    throw thrown
  }
}
const many = (n: number, from = 0) =>
  Array.from({ length: n }, (_none, at) => ({ value: `dir_${from + at}` }))

test.each<readonly [what: string, n: number, work: (n: number) => unknown]>([
  ['a name', 1_000, (n) => change({}, { op: 'add', value: { [`urn:${':User'.repeat(n)}\n`]: 1 } })],
  [
    'names',
    1_000,
    (n) => change({}, { op: 'add', value: Object.fromEntries(many(n).map(({ value }) => [value, 1])) }),
  ],
  [
    'members',
    500,
    (n) => change({ members: many(n) }, { op: 'add', path: 'members', value: many(n, n / 2) }),
  ],
  [
    'members that go',
    500,
    (n) => change({ members: many(n) }, { op: 'remove', path: 'members', value: many(n, n / 2) }),
  ],
])('a change with many or long %s', async (_what, n, work) => {
  expect(await mustBeLinear((items) => refused(() => work(items)), n)).toBeLessThan(3)
})

test('what is too much beside members is refused by name, and a group may have many of those', () => {
  const photos = Array.from({ length: 3_000 }, (_none, at) => ({ value: `https://example.com/photo/${at}` }))
  for (const operation of [
    { op: 'add', value: { photos } },
    { op: 'add', path: 'photos', value: photos },
  ])
    expect(refused(() => change({}, operation))).toBe("'Operations' may have 64 KB beside members at most.")
  for (const operation of [
    { op: 'Add', value: { members: many(10_000) } },
    { op: 'Add', path: 'members', value: many(10_000) },
  ])
    expect(change({}, operation).members).toHaveLength(10_000)
})

test('an element that is there is changed, and not added; one that goes is named whole or by its value', () => {
  const emails = [{ value: 'a', type: 'work' }, { value: 'a', type: 'home' }, 'plain']
  const added = change(
    { emails },
    { op: 'add', path: 'emails', value: [{ value: 'a', type: 'work', primary: true }, 'plain'] },
  )
  expect(added.emails).toEqual([
    { value: 'a', type: 'work', primary: true },
    { value: 'a', type: 'home' },
    'plain',
  ])
  expect(change({ emails }, { op: 'remove', path: 'emails', value: [{ value: 'a' }] }).emails).toEqual([
    'plain',
  ])
  expect(change({ emails }, { op: 'remove', path: 'emails', value: ['plain'] }).emails).toHaveLength(2)
  // The order of members says nothing.
  const addresses = [{ type: 'work', locality: 'Bern' }]
  const other = [{ locality: 'Bern', type: 'work' }]
  expect(change({ addresses }, { op: 'add', path: 'addresses', value: other }).addresses).toHaveLength(1)
})
