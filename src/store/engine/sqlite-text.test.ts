/** The stores' SQL as SQLite takes it: what it says, and that no value makes it plan a statement anew. */
import { Database } from 'bun:sqlite'
import { expect, test } from 'bun:test'
import { sqliteText } from './sqlite-text.ts'

test('a parameter that is compared stands behind a plus, and others do not', () => {
  expect(sqliteText('select a from t where b = $1 and c <$2 and d >= $13 limit $4')).toBe(
    'select a from t where b = +?1 and c <+?2 and d >= +?13 limit ?4',
  )
  expect(sqliteText('insert into t values ($1, cast($2 as bigint))')).toBe(
    'insert into t values (?1, cast(?2 as bigint))',
  )
})

test('it compares as before, by the index, texts, numbers and nothing', () => {
  const database = new Database(':memory:')
  database.run('create table t (id text primary key, n bigint, blob blob)')
  database.run(`insert into t values ('7', 7, x'00'), ('x', null, x'01')`)
  const found = (where: string, value: string | number | null | Uint8Array) =>
    database
      .query<{ id: string }, [string | number | null | Uint8Array]>(
        sqliteText(`select id from t where ${where} order by id`),
      )
      .all(value)
      .map(({ id }) => id)
  expect(found('id = $1', '7')).toEqual(['7'])
  expect(found('id = $1', 7)).toEqual(['7'])
  expect(found('n = $1', '7')).toEqual(['7'])
  expect(found('n > $1', 6)).toEqual(['7'])
  expect(found('n = $1', null)).toEqual([])
  expect(found('blob = $1', new Uint8Array([1]))).toEqual(['x'])
  const [plan] = database
    .query<{ detail: string }, [string]>(`explain query plan ${sqliteText('select n from t where id = $1')}`)
    .all('x')
  expect(plan?.detail).toContain('USING INDEX')
})
