/** Writes the table of a full run into docs/performance.md, between its markers. */
import { readFileSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'

export type Row = {
  readonly what: string
  readonly server: string
  readonly cpu: string
  readonly rate: string
  readonly p50: string
  readonly p99: string
}

const PATH = 'docs/performance.md'

/** Replaces what stands between the comment of that name and the next `end`. */
export const writeBetween = (name: string, lines: readonly string[]): void => {
  const [before = '', rest = ''] = readFileSync(PATH, 'utf8').split(`<!-- ${name} -->`)
  const after = rest.slice(rest.indexOf('<!-- end -->'))
  writeFileSync(PATH, `${before}<!-- ${name} -->\n${lines.join('\n')}\n${after}`)
}

/** How many cores of which kind measured, and when. */
export const measuredOn = (): string =>
  `Measured ${new Date().toISOString().slice(0, 10)} on ${cpus().length} cores (${cpus()[0]?.model ?? 'unknown'}), Bun ${Bun.version}`

export const writeReport = async (
  rows: readonly Row[],
  result: Readonly<Record<string, number>>,
): Promise<void> => {
  const lines = [
    `${measuredOn()}; load, upstream and server share the cores.`,
    '',
    '| what | server | CPU | rate | p50 | p99 |',
    '| --- | --- | --- | --- | --- | --- |',
    ...rows.map(
      (row) => `| ${row.what} | ${row.server} | ${row.cpu} | ${row.rate} | ${row.p50} | ${row.p99} |`,
    ),
    '',
    '| ratio (median of the turns) | value |',
    '| --- | --- |',
    ...Object.entries(result).map(([name, value]) => `| \`${name}\` | ${value} |`),
  ]
  writeBetween('table', lines)
}
