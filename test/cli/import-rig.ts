/** A server, and `turnpike import` into its ledger. */
import { expect } from 'bun:test'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import OpenAI from 'openai'
import { beginProgram, endPrograms, runProgram, startProgram } from '../program.ts'

/** A model that needs no vendor. */
export const MODEL = 'local/echo-1'

export const sha256 = (text: string) => new Bun.CryptoHasher('sha256').update(text).digest('hex')

/** The imports that docs/moving.md tells, each as it is typed. */
const documented = [
  ...readFileSync(join(import.meta.dir, '../../docs/moving.md'), 'utf8').matchAll(/^turnpike (import .+)$/gm),
].map(([, line = '']) => line.split(' '))

export const openImports = async () => {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-import-'))
  const settings = { DATABASE_URL: `sqlite:${folder}/ledger.db`, CONSOLE: 'off' }
  const { address } = await startProgram(folder, settings)
  const run = (...args: string[]) => runProgram(folder, settings, ...args)
  return {
    folder,
    address,
    run,
    /** Begins an import, which a test may end. */
    begin: (what: string, from: string) => beginProgram(folder, settings, 'import', what, '--from', from),
    importing: async (what: string, from: string, ...args: string[]) => {
      const { code, out, errors } = await run('import', what, '--from', from, '--json', ...args)
      expect([code, errors]).toEqual([0, ''])
      return JSON.parse(out)
    },
    /** Runs what docs/moving.md tells of it, line by line, from another place. */
    asDocumented: async (what: string, places: Readonly<Record<string, string>>) => {
      const lines = documented.filter(([, source]) => source === what)
      expect(lines.length).toBeGreaterThan(1)
      const found: any[] = []
      for (const line of lines) {
        const args = line.map((word, at) => places[line[at - 1] ?? ''] ?? word)
        const { code, out, errors } = await run(...args, '--json')
        expect([code, errors]).toEqual([0, ''])
        found.push(JSON.parse(out))
      }
      return found
    },
    /** Finds a key, also one below others, by id or label. */
    keysShown: async () => {
      const all: readonly any[] = JSON.parse((await run('key', 'list', '--json')).out)
      const byName = new Map(all.flatMap((key) => [[key.id, key] as const, [key.label, key] as const]))
      return (name: string) => byName.get(name)
    },
    /** What a call with that value is answered: its object, or the status of the refusal. */
    call: (value: string, model: string = MODEL) =>
      new OpenAI({ apiKey: value, baseURL: `${address}/v1`, maxRetries: 0 }).chat.completions
        .create({ model, messages: [{ role: 'user', content: 'hi' }], max_tokens: 5 })
        .then(
          ({ object }) => object as string,
          ({ status }) => status as number,
        ),
    stop: async () => {
      await endPrograms()
      rmSync(folder, { recursive: true })
    },
  }
}
