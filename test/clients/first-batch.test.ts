/** Runs the commands and programs of docs/batches.md unchanged, on the built-in model. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { localFetch } from '../../src/transport/local.ts'
import { localModels } from '../../src/vendors/local/local.ts'
import { type BatchServer, startBatchServer } from '../server/batch-rig.ts'
import { mockSetup } from '../server/harness.ts'
import { brokenLaws } from '../store/engines.ts'
import { tempFolder } from '../temp-folder.ts'
import { blocksOf } from './documented.ts'

const root = new URL('../..', import.meta.url).pathname
const commands = await blocksOf('batches.md')
const page = await readFile(join(root, 'docs/batches.md'), 'utf8')
const programs = [...page.matchAll(/```js\n([\s\S]*?)```/g)].map(([, block = '']) => block)

let server: BatchServer
let bound: ReturnType<typeof Bun.serve>
let folder: string
let env: Record<string, string>
beforeAll(async () => {
  const more = [{ ...mockSetup({ id: 'local' }, localFetch), baseUrl: 'local:' }]
  server = await startBatchServer({ server: { models: localModels, more } })
  bound = Bun.serve({ port: 0, hostname: '127.0.0.1', idleTimeout: 0, fetch: server.fetch })
  folder = await tempFolder('turnpike-batch-')
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'))
  const { token } = await server.newKey()
  env = { PATH: process.env.PATH ?? '', GATE: `http://127.0.0.1:${bound.port}`, KEY: token }
})
afterAll(async () => {
  await bound.stop(true)
  await server.stop()
})

const run = async (...command: string[]): Promise<string> => {
  const child = Bun.spawn(command, { cwd: folder, env, stderr: 'pipe' })
  const [said, wrong] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ])
  expect([await child.exited, wrong]).toEqual([0, ''])
  return said
}
const runProgram = async (program = ''): Promise<string> => {
  await writeFile(join(folder, 'first.mjs'), program)
  return run(process.execPath, 'first.mjs')
}

test('each block is run here', () => expect([commands.length, programs.length]).toEqual([2, 3]))

test('by curl', async () => {
  for (const block of commands) await run('sh', '-e', '-c', block)
  const lines = (await readFile(join(folder, 'results.jsonl'), 'utf8')).trimEnd().split('\n')
  const said = lines.map((line) => JSON.parse(line).response.body.choices[0].message.content)
  expect(said).toEqual(['You said: say 1', 'You said: say 2', 'You said: say 3'])
})

test('with each client', async () => {
  const [openai, anthropic, google] = programs
  expect((await runProgram(openai)).trimEnd().split('\n')).toHaveLength(3)
  for (const program of [anthropic, google])
    expect(await runProgram(program)).toBe(
      'line-1 You said: say 1\nline-2 You said: say 2\nline-3 You said: say 3\n',
    )
  expect(await brokenLaws(server.store)).toEqual([])
})
