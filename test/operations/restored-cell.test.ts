/** A cell is started from a backup of before a move: it lets go what another cell has before it takes a call, and says so. */
import { afterAll, expect, test } from 'bun:test'
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../free-port.ts'
import { endPrograms, runProgram, startProgram } from '../program.ts'
import { tempFolder } from '../temp-folder.ts'
import { until } from '../until.ts'

afterAll(endPrograms)

const SETTINGS = { TURNPIKE_SECRET: 'a-secret-of-both-cells-0123456789', DISCOVER: 'off', LOG: 'info' }

/** What a server has written to its log, as it writes it. */
const logOf = (stream: ReadableStream<Uint8Array>) => {
  let text = ''
  void (async () => {
    for await (const piece of stream) text += new TextDecoder().decode(piece)
  })()
  return () => text
}

test('an organisation that has moved is let go by the backup of the cell that it left', async () => {
  const home = await tempFolder('turnpike-restored-')
  const directory = join(home, 'cells.yaml')
  const vendor = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: () => {
      const choices = [{ index: 0, message: { role: 'assistant', content: 'hello' }, finish_reason: 'stop' }]
      const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }
      return Response.json({ id: 'c', object: 'chat.completion', created: 1, model: 'm', choices, usage })
    },
  })
  const ports: Record<string, number> = { c1: await freePort(), c2: await freePort() }
  const cells = Object.entries(ports).map(
    ([name, port]) => `  ${name}: { addresses: ['http://127.0.0.1:${port}'] }\n`,
  )
  writeFileSync(directory, `first: c1\ncells:\n${cells.join('')}`)
  const settingsOf = (cell: string) => ({
    ...SETTINGS,
    ...{ CELL: cell, CELLS: directory, PORT: String(ports[cell]), DATABASE_URL: 'sqlite:./turnpike.db' },
  })
  const start = async (cell: string) => {
    const folder = join(home, cell)
    mkdirSync(folder, { recursive: true })
    writeFileSync(
      join(folder, 'turnpike.yaml'),
      `vendors:\n  mock:\n    base_url: http://127.0.0.1:${vendor.port}/v1\n    models:\n      m: { input_usd_per_1m: "1", output_usd_per_1m: "10", context_tokens: 100000, max_output_tokens: 4000 }\n`,
    )
    return startProgram(folder, settingsOf(cell), 'pipe')
  }
  const ask = async (token: string, cell = 'c1') => {
    const answer = await fetch(`http://127.0.0.1:${ports[cell]}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'mock/m', messages: [{ role: 'user', content: 'hello' }] }),
    })
    await answer.bytes()
    return answer.status
  }
  const stop = async ({ child }: Awaited<ReturnType<typeof start>>) => {
    child.kill('SIGTERM')
    await child.exited
  }
  const run = async (cell: string, ...words: string[]) => {
    const { code, out, errors } = await runProgram(join(home, cell), settingsOf(cell), ...words)
    expect([words, code, code === 0 ? '' : errors]).toEqual([words, 0, ''])
    return out
  }
  const first = await start('c1')
  const { organisation } = JSON.parse(await run('c1', 'wallet', 'create', '--name', 'acme', '--json'))
  await run('c1', 'wallet', 'fund', '--usd', '1', '--wallet', 'acme')
  const { key: token } = JSON.parse(
    await run('c1', 'key', 'create', '--wallet', 'acme', '--label', 'l', '--json'),
  )
  expect(await ask(token)).toBe(200)
  await stop(first)
  await run('c1', 'backup', join(home, 'backup'))
  const second = await start('c2')
  const here = await start('c1')
  expect(await ask(token)).toBe(200)
  const target = ['--to', 'c2', '--database', `sqlite:${join(home, 'c2', 'turnpike.db')}`]
  await run('c1', 'cell', 'move', organisation, ...target)
  // Its key names the other cell, which sends it back once.
  expect([await ask(token, 'c2'), await ask(token, 'c2')]).toEqual([503, 200])
  await stop(here)
  for (const more of ['', '-wal', '-shm']) rmSync(join(home, 'c1', `turnpike.db${more}`), { force: true })
  const backup = readdirSync(join(home, 'backup')).find((name) => name.startsWith('turnpike-')) ?? ''
  await run('c1', 'restore', join(home, 'backup', backup))
  const restored = await start('c1')
  const log = logOf(restored.child.stderr as ReadableStream<Uint8Array>)
  // It is passed on, to where the key's money is.
  expect(await ask(token)).toBe(200)
  await until(async () => log().includes('an organisation is in another cell'))
  const usage = async (cell: string) => JSON.parse(await run(cell, 'usage', '--json'))[0].requests
  // The backup has the first of the four; the second came along.
  expect([await usage('c1'), await usage('c2')]).toEqual([1, 4])
  for (const cell of ['c1', 'c2']) await run(cell, 'audit')
  // What stands between the cells is the call that the backup did not know.
  const sums = await runProgram(join(home, 'c1'), settingsOf('c1'), 'cell', 'sums', ...target.slice(2))
  expect([sums.code, sums.errors]).toEqual([1, expect.stringContaining('0.00006 USD are between the cells')])
  await stop(second)
  const status = await fetch(`http://127.0.0.1:${ports.c1}/api/status`).then((answer) => answer.json())
  expect(status).toMatchObject({ services: { cells: { status: 'ok' } } })
  await stop(restored)
  await vendor.stop(true)
})
