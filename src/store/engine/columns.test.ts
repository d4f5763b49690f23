/** Rows as values: read, inserted, and refused if a column is not what it was declared as. */
import { describe, expect, test } from 'bun:test'
import { followedBy, integer, json, maybe, nano, oneOf, rowsOf, text, truth } from './columns.ts'

const things = rowsOf({
  id: text('id'),
  amount: nano('amount'),
  madeAt: integer('made_at'),
  isOver: truth('over'),
  state: oneOf('state', ['due', 'paid']),
  names: json('names', (value) => (Array.isArray(value) ? value.map(String) : [])),
  note: maybe(text('note')),
  most: maybe(nano('most')),
})

const row = { id: 'a', amount: 5n, made_at: 7n, over: 1n, state: 'due', names: '["x"]', note: null, most: 3 }

describe('a row', () => {
  test('is read with the types of its columns; null is an absent member', () => {
    const value = things.read(row)
    expect(value).toEqual({
      id: 'a',
      amount: 5n,
      madeAt: 7,
      isOver: true,
      state: 'due',
      names: ['x'],
      most: 3n,
    })
    expect('note' in value).toBe(false)
  })

  test.each([
    ['a text that is a number', { id: 1n }],
    ['an amount that is a text', { amount: '5' }],
    ['an amount that is not whole', { amount: 0.5 }],
    ['an instant that no number can hold', { made_at: 2n ** 60n }],
    ['a missing column', { amount: undefined }],
    ['a word that is not known', { state: 'lost' }],
  ])('with %s is refused', (_what, change) => {
    expect(() => things.read({ ...row, ...change })).toThrow('column')
  })

  test('is inserted by what is given: an undefined member as null, an absent one by its default', () => {
    const made = things.insert(
      'thing',
      { id: 'a', isOver: false, note: undefined, names: ['x'] },
      { made_at: 'now()', amount: (bind) => `1 + ${bind(4n)}` },
    )
    expect(made).toEqual({
      text: 'insert into thing (id, over, names, note, made_at, amount) values ($1, $2, $3, $4, now(), 1 + $5)',
      params: ['a', 0, '["x"]', null, 4n],
    })
    expect(followedBy(made, 'on conflict do nothing').text).toEndWith('1 + $5) on conflict do nothing')
  })
})
