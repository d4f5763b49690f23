/** The findings of the last runs of the sessions, kept beside the code; docs/compatibility.md is written from them. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Cell, cells, type Program, titleOf } from './programs/program.ts'

type Row = {
  readonly client: string
  readonly version: string
  readonly vendor: string
  /** Day of the run, UTC. */
  readonly date: string
  /** The cells that failed, and those that the client lacks, with the reason. */
  readonly failed: readonly Cell[]
  readonly cannot: Partial<Record<Cell, string>>
}

const path = join(import.meta.dir, 'results.json')
const read = (): Row[] => (existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : [])

/** Replaces the rows of the same client by those of a run. */
export const keepResults = (rows: readonly Row[]): void => {
  const clients = new Set(rows.map(({ client }) => client))
  const kept = read().filter(({ client }) => !clients.has(client))
  const all = [...kept, ...rows].sort((a, b) => a.client.localeCompare(b.client))
  writeFileSync(path, `${JSON.stringify(all, null, 2)}\n`)
}

export const rowOf = (program: Program, version: string, vendor: string, failed: readonly Cell[]): Row => ({
  client: titleOf(program),
  version,
  vendor,
  date: new Date().toISOString().slice(0, 10),
  failed,
  cannot: program.cannot ?? {},
})

/** The part of the page about sessions. */
export const sessionsPage = (): string => {
  const notes: string[] = []
  const noted = (reason: string): string => {
    if (!notes.includes(reason)) notes.push(reason)
    return `– [${notes.indexOf(reason) + 1}]`
  }
  const rows = read().map(({ client, version, vendor, date, failed, cannot }) => {
    const found = cells.map((cell) => {
      const reason = cannot[cell]
      if (reason !== undefined) return noted(reason)
      return failed.includes(cell) ? '✗' : '✓'
    })
    return `| ${[client, version, vendor, date, ...found].join(' | ')} |`
  })
  const heads = ['client', 'version', 'vendor speaks', 'run on', ...cells]
  return [
    '## Whole sessions',
    '',
    'Real programs and libraries from npm run with only address and key changed, against a server in a process of its own',
    '(`npm run agents`). `docs/clients` and `turnpike connect` say how to set up each.',
    '',
    `| ${heads.join(' | ')} |`,
    `| ${heads.map(() => '---').join(' | ')} |`,
    ...rows,
    '',
    ...notes.map((note, index) => `${index + 1}. ${note}`),
    ...(notes.length === 0 ? [] : ['']),
    '- text: the recipe runs unchanged and prints the answer.',
    '- two tools, tool error: two calls at once, then one that fails; the last answer quotes what all three said.',
    "- long context: the vendor's cache is read from the second turn on.",
    "- money: the vendor's counts by the price list, the ledger and the cost in each answer are one amount, and the client counts",
    '  the same; afterwards nothing is held, and the audit finds no fault.',
    '- bytes: a vendor of the same dialect saw what the client sent; what other vendors did not get was named to the caller.',
    '- clients that keep a socket also do forty turns of tools on one, without an error or a retry.',
    "- error: the client shows the vendor's own words.",
    '- hang-up: the client hangs up while an answer stalls, and the call to the vendor ends.',
    '',
    'Codex also compacts a session three times over its socket, with a vendor of each dialect',
    '(`test/agents/compaction.test.ts`).',
    '',
  ].join('\n')
}
