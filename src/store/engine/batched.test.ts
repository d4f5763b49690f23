/** Who asks in one turn of the loop shares a transaction, also on an engine that never waits inside one. */
import { expect, test } from 'bun:test'
import { batched } from './batched.ts'
import { openSqlite } from './sqlite.ts'

test('asks of requests that are read in one turn of the loop share a transaction', async () => {
  const engine = openSqlite(':memory:')
  const batches: number[] = []
  const ask = batched<number, number>(engine, {
    lane: 'relaxed',
    work: async (_run, asks) => {
      batches.push(asks.length)
      return asks.map((one) => one * 2)
    },
    group: () => '',
    name: String,
  })
  // Each request asks for itself, some microtasks apart, as requests do that one read of the sockets brought.
  const asked = Array.from({ length: 10 }, async (_, at) => {
    for (let wait = 0; wait < at * 3; wait++) await undefined
    return ask(at)
  })
  expect(await Promise.all(asked)).toEqual(Array.from({ length: 10 }, (_, at) => at * 2))
  expect(batches).toEqual([10])
  await engine.close()
})
