/** A body is read into its types; a wrong member is refused by its name. */
import { expect, test } from 'bun:test'
import { z } from 'zod'
import { line, readAs, readBy, strangers, text, usd, whole } from './body.ts'
import { invalid, Refusal } from './refusal.ts'

const even = readBy((value) => (Number(value) % 2 === 0 ? Number(value) : invalid('even', 'Not even.')), {})
const body = z.strictObject(
  {
    name: text(1, 3, 'must be a short name'),
    price: usd('must be an amount').nullable().optional(),
    count: whole(1, 9, 'must be from 1 to 9').optional(),
    even: even.optional(),
    inner: z.object({ flag: z.boolean('must be true or false') }).optional(),
  },
  { error: strangers('is not known') },
)

test.each([
  [{ a: 'x', b: 1 }, 'b', "'b' is not taken here."],
  [{}, 'a', "'a' is missing."],
  [{ a: 5 }, 'a', "'a' must be a string."],
  [{ a: 'x', list: 5 }, 'list', "'list' must be a list."],
  [{ a: 'x', list: ['x'] }, 'list.0', "'list.0' must be an object."],
  [{ a: 'x'.repeat(4) }, 'a', "'a' has a value that is not taken here."],
])('what is wrong by a schema without messages is told in words: %j', (value, param, message) => {
  const bare = z.strictObject({ a: z.string().max(3), list: z.array(z.object({})).optional() })
  const refused = readAs(bare, value)
  expect(refused instanceof Refusal && [refused.members.param, refused.message]).toEqual([param, message])
})

test('members come out as their types', () => {
  expect(readAs(body, { name: 'abc', price: 0.5, count: 9, even: 4 })).toEqual({
    name: 'abc',
    price: 500_000_000n,
    count: 9,
    even: 4,
  })
  expect(readAs(body, { name: 'abc', price: null })).toEqual({ name: 'abc', price: null })
})

test.each([
  [{}, 'name', "'name' must be a short name."],
  [{ name: '' }, 'name', "'name' must be a short name."],
  [{ name: 5 }, 'name', "'name' must be a short name."],
  [{ name: 'a', price: '5' }, 'price', "'price' must be an amount."],
  [{ name: 'a', price: -1 }, 'price', "'price' must be an amount."],
  [{ name: 'a', price: 1e-12 }, 'price', "'price' must be an amount."],
  [{ name: 'a', count: 1.5 }, 'count', "'count' must be from 1 to 9."],
  [{ name: 'a', count: 10 }, 'count', "'count' must be from 1 to 9."],
  [{ name: 'a', even: 3 }, 'even', 'Not even.'],
  [{ name: 'a', inner: { flag: 1 } }, 'inner.flag', "'inner.flag' must be true or false."],
  [{ nam: 'a' }, 'nam', "'nam' is not known."],
])('%j', (value, param, message) => {
  const read = readAs(body, value)
  expect(read instanceof Refusal ? [read.members.param, read.message] : read).toEqual([param, message])
})

test('what is wrong may be refused in another way', () => {
  const otherwise = (wrong: ReadonlySet<string>) => (wrong.has('count') ? [...wrong].sort() : undefined)
  expect(readAs(body, { count: 0 }, otherwise)).toEqual(['count', 'name'])
  expect(readAs(body, { name: '' }, otherwise)).toBeInstanceOf(Refusal)
})

test.each(['a\nb', 'a\u0000', '\u001b[31m', '\u009b1m', 'a\u2028b', '\u202egnp', '\u2067a\u2069'])(
  'a text that people read has nothing that hides or turns it: %j',
  (label) => {
    const named = z.strictObject({ label: line(1, 200, 'must be a name') })
    const refused = readAs(named, { label })
    expect(refused instanceof Refusal && [refused.members.param, refused.message]).toEqual([
      'label',
      "'label' must be one line of text, without control characters and marks that turn its direction.",
    ])
    // Letters of every script are as good as before, with the marks that they need.
    for (const good of ['Käse 寿司', 'שלום\u200f!', '👩\u200d💻'])
      expect(readAs(named, { label: good })).toEqual({ label: good })
  },
)
