/**
 * A coding agent, unchanged but for its address and key: it runs a command, reads a file and answers, before a vendor of
 * each dialect. It is no dependency, for its size: the test installs it into a temporary folder, and says so and leaves
 * the agent out where the registry has none for this machine.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type FourVendors, listenWithVendors, modelOf, vendorIds } from './harness.ts'
import { counts, note } from './vendors/script.ts'

const folder = join(tmpdir(), 'turnpike-agent')
const binary = join(
  folder,
  `node_modules/@anthropic-ai/claude-code-${process.platform}-${process.arch}/claude`,
)

/** The agent's program: found, or installed once on this machine. */
const findAgent = async (): Promise<string | null> => {
  if (existsSync(binary)) return binary
  const npm = Bun.which('npm')
  if (npm !== null)
    await Bun.spawn([npm, 'install', '--silent', '--prefix', folder, '@anthropic-ai/claude-code@2.1.197'], {
      stdio: ['ignore', 'ignore', 'ignore'],
      timeout: 120_000,
    }).exited
  if (!existsSync(binary))
    process.stderr.write('the coding agent could not be installed: its test is left out\n')
  return existsSync(binary) ? binary : null
}
const agent = await findAgent()

let it: FourVendors
let home: string

beforeAll(async () => {
  it = await listenWithVendors()
  home = mkdtempSync(join(tmpdir(), 'agent-'))
})

afterAll(async () => {
  await it.stop()
  rmSync(home, { recursive: true, force: true })
})

type Told = {
  result?: string
  is_error?: boolean
  usage?: { input_tokens: number; output_tokens: number }
}

const run = async (model: string, prompt: string): Promise<Told> => {
  const child = Bun.spawn(
    [
      agent ?? '',
      '-p',
      prompt,
      '--bare',
      '--model',
      model,
      '--output-format',
      'json',
      '--allowedTools',
      'Bash,Read',
    ],
    {
      cwd: home,
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'pipe',
      timeout: 60_000,
      env: {
        PATH: process.env.PATH,
        HOME: home,
        ANTHROPIC_BASE_URL: it.baseURL.replace(/\/v1$/, ''),
        ANTHROPIC_API_KEY: it.key,
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      },
    },
  )
  const said = await new Response(child.stdout).text()
  await child.exited
  return JSON.parse(said)
}

for (const vendor of vendorIds)
  test.skipIf(agent === null)(
    `claude-code makes and reads a note with a vendor that speaks ${vendor}`,
    async () => {
      const notes = mkdtempSync(join(home, 'note-'))
      const before = await it.server.balance()
      const { result, is_error, usage } = await run(modelOf[vendor], `Make a note in ${notes}.`)
      expect([it.memories[vendor].refused, is_error]).toEqual([[], false])
      expect(readFileSync(join(notes, 'note.txt'), 'utf8')).toBe(note)
      expect(result).toContain('The note says:')
      expect(result).toContain(note)
      // Three answers: what the agent counts is what the vendor counted, not what the first events guessed.
      expect(usage).toMatchObject({ input_tokens: 3 * counts.input, output_tokens: 3 * counts.output })
      expect(await it.server.balance()).toBeLessThan(before)
    },
    60_000,
  )
