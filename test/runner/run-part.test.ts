/** How `npm test` reports its parts: their counts, and the name of the test in which one hangs or dies. */
import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { failuresOf } from '../failures.ts'
import { runPart } from '../run-part.ts'

const folder = mkdtempSync(join(tmpdir(), 'turnpike-runner-'))
afterAll(() => rmSync(folder, { recursive: true }))

/** A part of one file of tests. */
const partOf = (name: string, body: string) => {
  const path = join(folder, `${name}.test.ts`)
  writeFileSync(path, `import { expect, test } from 'bun:test'\n${body}\n`)
  return { name, command: [process.execPath, 'test', path] }
}

test('a part that ends is counted', async () => {
  const body = `
    test('good', () => {})
    test.each([[1], [2]])('also %i', (n) => { expect(n).toBe(1) })
    test.skipIf(true)('left out', () => {})`
  expect(await runPart(partOf('ends', body))).toMatchObject({ passed: 2, failed: 1 })
})

test('a part that hangs is ended, and named with the test it was in', async () => {
  const body = `test('the one that waits', () => new Promise(() => { setInterval(() => {}, 1000) }))`
  const { failed, output } = await runPart(partOf('hangs', body), {}, 1_000)
  expect(failed).toBe(1)
  expect(output).toContain('hangs.test.ts: the one that waits')
})

test('a part that dies is named with the test it was in', async () => {
  const { failed, output } = await runPart(
    partOf('dies', `test('the one that ends it', () => { process.kill(process.pid, 'SIGKILL') })`),
  )
  expect(failed).toBe(1)
  expect(output).toContain('dies.test.ts: the one that ends it')
})

test('a part that several processes share is counted as a whole, and fails when one of them dies', async () => {
  const side = mkdtempSync(join(folder, 'side-'))
  const file = (name: string, body: string) =>
    writeFileSync(join(side, `${name}.test.ts`), `import { expect, test } from 'bun:test'\n${body}\n`)
  const command = [process.execPath, 'test', '--parallel=2', '--no-isolate', side]
  file('one', `test('good', () => {})\ntest('bad', () => { expect(1).toBe(2) })`)
  file('two', `test('good too', () => {})`)
  const both = await runPart({ name: 'shared', command })
  expect([both.passed, both.failed]).toEqual([2, 1])
  expect(failuresOf(both.output)).toContain('(fail) bad')
  file('one', `test('the one that ends it', () => { process.kill(process.pid, 'SIGKILL') })`)
  expect((await runPart({ name: 'shared', command })).failed).toBeGreaterThan(0)
})

test('a part that must fail passes when it does, and fails when it does not or says nothing', async () => {
  const broken = { ...partOf('broken', `test('x', () => { expect(1).toBe(2) })`), mustFail: true }
  const sound = { ...partOf('sound', `test('x', () => { expect(1).toBe(1) })`), mustFail: true }
  const silent = { name: 'silent', command: [process.execPath, '-e', 'process.exit(1)'], mustFail: true }
  const counts = await Promise.all(
    [broken, sound, silent].map(async (part) => {
      const { passed, failed } = await runPart(part)
      return [passed, failed]
    }),
  )
  expect(counts).toEqual([
    [1, 0],
    [0, 1],
    [0, 1],
  ])
})

test('a part gets the database and the program that it is given, and none of the run that it is part of', async () => {
  const part = partOf(
    'alone',
    `test('x', () => {
      expect(process.env.DATABASE_TEST_TEMPLATE).toBeUndefined()
      expect(process.env.TEST_PROGRAM).toBeUndefined()
    })`,
  )
  expect(await runPart(part)).toMatchObject({ passed: 1, failed: 0 })
  expect(await runPart(part, { DATABASE_TEST_TEMPLATE: 'postgres://there' })).toMatchObject({ failed: 1 })
  expect(await runPart(part, { TEST_PROGRAM: '/there' })).toMatchObject({ failed: 1 })
})

test('a server that a failed test left running is ended with its file', async () => {
  const body = `
    import { startProgram } from '${import.meta.resolve('../program.ts')}'
    test('x', async () => {
      const { child } = await startProgram('${folder}', {})
      console.log('pid', child.pid)
      expect(1).toBe(2)
    })`
  const { failed, output } = await runPart(partOf('leaves', body))
  const pid = Number(/pid (\d+)/.exec(output)?.[1])
  expect([failed, pid > 0]).toEqual([1, true])
  expect(() => process.kill(pid, 0)).toThrow()
})
