/**
 * A pasted list of tenants, one per line: label, reference, monthly cap in USD; separated by commas, semicolons or
 * tabs.
 */
import { typedUsd } from '../format.ts'

type TenantLine = {
  readonly label: string
  readonly reference?: string
  readonly limits?: { readonly monthly_cap_usd: number }
}

type TenantList = { readonly tenants: readonly TenantLine[]; readonly wrong: readonly string[] }

/** Cells of a line of CSV, quoted or not. */
const cellsOf = (line: string): readonly string[] =>
  [...line.matchAll(/(?:^|[,;\t])\s*(?:"((?:[^"]|"")*)"|([^,;\t]*))/g)].map(([, quoted, plain]) =>
    (quoted?.replaceAll('""', '"') ?? plain ?? '').trim(),
  )

const isHead = (line: string): boolean => /^"?(label|tenant|name)"?\s*[,;\t]/i.test(line)

export const readTenants = (text: string): TenantList => {
  const tenants: TenantLine[] = []
  const wrong: string[] = []
  const lineOf = new Map<string, number>()
  for (const [at, line] of text.split(/\r?\n/).entries()) {
    if (line.trim() === '' || (at === 0 && isHead(line))) continue
    const [label = '', reference = '', cap = '', ...more] = cellsOf(line)
    const amount = typedUsd(cap)
    if (line.includes('\ufffd')) wrong.push(`Line ${at + 1} is not in UTF-8; save the file as “CSV UTF-8”.`)
    else if (label === '') wrong.push(`Line ${at + 1} has no label.`)
    else if (more.some((cell) => cell !== ''))
      wrong.push(`Line ${at + 1} has more than three columns; an amount has a point, such as 1.5.`)
    else if (reference !== '' && lineOf.has(reference))
      wrong.push(`Lines ${lineOf.get(reference)} and ${at + 1} have the same reference '${reference}'.`)
    else if (amount === null) wrong.push(`Line ${at + 1}: '${cap}' is no amount.`)
    else
      tenants.push({
        label,
        ...(reference === '' ? {} : { reference }),
        ...(amount === undefined ? {} : { limits: { monthly_cap_usd: amount } }),
      })
    if (reference !== '' && !lineOf.has(reference)) lineOf.set(reference, at + 1)
  }
  return { tenants, wrong }
}
