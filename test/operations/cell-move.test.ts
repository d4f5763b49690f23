/** `turnpike cell move`: an organisation goes to another ledger by one command, whenever that is killed, and back. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { join } from 'node:path'
import { openStore } from '../../src/store/open-store.ts'
import { beginProgram, endPrograms, runProgram } from '../program.ts'
import { brokenLaws } from '../store/engines.ts'
import { tempFolder } from '../temp-folder.ts'
import { makeCalledLedger } from './called-ledger.ts'

/** Enough that a step takes its time. */
const CALLS = 3_000
const LEFT = 1_000n
let home: string
const urlOf = (cell: string) => `sqlite:${join(home, `${cell}.db`)}`
beforeAll(async () => {
  home = await tempFolder('turnpike-cells-')
  await (await openStore({ url: urlOf('b') })).close()
  await makeCalledLedger(join(home, 'a.db'), CALLS, LEFT)
})
afterAll(endPrograms)

const words = (from: string, to: string) =>
  ['cell', 'move', 'o', '--to', to, '--from', from, '--database', urlOf(to)] as const

/** Kills the command as soon as it tells this, or lets it end. */
const killedAt = async (line: string): Promise<void> => {
  const child = beginProgram(home, { DATABASE_URL: urlOf('a') }, ...words('a', 'b'))
  const told = (child.stderr as ReadableStream<Uint8Array>).getReader()
  for (let text = ''; !text.includes(line); ) {
    const { value, done } = await told.read()
    if (done) break
    text += new TextDecoder().decode(value)
  }
  child.kill('SIGKILL')
  await child.exited
}

/** What both ledgers say of it: where it is, its money, its postings in the books of each, and that all laws hold. */
const standing = async () => {
  const facts: Record<string, unknown> = {}
  for (const cell of ['a', 'b']) {
    const store = await openStore({ url: urlOf(cell) })
    const wallet = await store.wallets.wallet('w')
    const revenue = await store.ledger.balance('revenue')
    facts[cell] = [wallet?.balance, (await store.keys.key('k'))?.cell, revenue, await brokenLaws(store)]
    await store.close()
  }
  return facts
}

test('it is killed at each step, and the next command finishes; then it moves back', async () => {
  for (const line of ['its calls wait', 'its balance has left', 'it has arrived']) await killedAt(line)
  const last = await runProgram(home, { DATABASE_URL: urlOf('a') }, ...words('a', 'b'))
  // The last one that was killed may have been done.
  if (last.code !== 0) expect(last.errors).toBe('turnpike: it was not moved: it is in the cell b\n')
  const charged = 1_000n * BigInt(CALLS)
  expect(await standing()).toEqual({ a: [0n, 'b', charged, []], b: [LEFT, undefined, 0n, []] })
  const back = await runProgram(home, { DATABASE_URL: urlOf('b') }, ...words('b', 'a'), '--json')
  expect([back.code, JSON.parse(back.out)]).toEqual([
    0,
    expect.objectContaining({
      to: 'a',
      balance_usd: '0.000001',
      rows: expect.objectContaining({ transfer: CALLS + 1 }),
    }),
  ])
  expect(await standing()).toEqual({ a: [LEFT, undefined, charged, []], b: [0n, 'a', 0n, []] })
  const all = ['cell', 'sums', '--database', urlOf('b'), '--audit', '--json']
  const sums = await runProgram(home, { DATABASE_URL: urlOf('a') }, ...all)
  const { cells, together } = JSON.parse(sums.out)
  expect([sums.code, cells.map(({ laws }: { laws: string }) => laws)]).toEqual([0, ['hold', 'hold']])
  expect(together).toMatchObject({
    ...{ organisations: 1, balance_usd: 0.000001, charged_today_usd: 0, between_usd: 0, under_way_usd: 0 },
  })
})

test('what cannot be is refused in one line', async () => {
  const run = async (...given: string[]) =>
    (await runProgram(home, { DATABASE_URL: urlOf('a') }, 'cell', ...given)).errors
  expect(await run('move', 'o', '--to', 'b', '--database', urlOf('b'))).toContain(
    '--from must name this cell',
  )
  expect(await run('move', 'o', '--from', 'a', '--to', 'B-2', '--database', urlOf('b'))).toContain(
    "'B-2' is no name",
  )
  expect(await run('move', 'o', '--from', 'a', '--to', 'c', '--database', './none')).toContain(
    './none cannot be read',
  )
  expect(await run('move', 'o', '--from', 'a', '--to', 'c', '--database', 'sqlite:./none.db')).toContain(
    'there is no ledger',
  )
  expect(await run('sums', '--database', 'sqlite:./none.db')).toContain('there is no ledger')
  expect(await run('stay', 'o', '--from', 'a', '--to', 'b')).toContain('it is not being moved')
})
