/** How long functions are: by their own lines, and with those of the functions inside them. */
import type { Rule } from './rules.ts'
import type { Source } from './sources.ts'

/** Of its own: without the functions inside it. */
const OWN_LINES_MAX = 60
/** A function that makes others, with all of them: a reader keeps all that they share in mind at once. */
const LINES_MAX = 100

export type Measured = {
  readonly path: string
  /** The line that opens the body, from 1. */
  readonly line: number
  readonly name: string
  readonly own: number
  readonly total: number
}

/** A line that opens the body of a function. In formatted code the line that closes it begins at the same depth. */
const opening = /^( *).*(?:=> \(?|\) |\): .* )\{$/
const otherBlock = /^ *(?:\} )?(?:if|else|for|while|switch|catch|try|do|(?:export )?(?:type|interface))\b/
const nameIn =
  /(?:const|function\*?) (\w+)|^ *(?:async |static |get )?(\*?#?\w+)(?:: (?:async )?)?(?:<[^>]*>)?\(/

/** Every function of the source of more than one line. */
export const functionsOf = ({ path, code }: Source): readonly Measured[] => {
  const lines = code.split('\n')
  const spans = lines.flatMap((line, from) => {
    const indent = opening.exec(line)?.[1]
    if (indent === undefined || otherBlock.test(line)) return []
    const to = lines.findIndex((each, at) => at > from && each.startsWith(`${indent}}`))
    return to < 0 ? [] : [{ from, to }]
  })
  return spans.map(({ from, to }) => {
    const inner = new Set<number>()
    for (const span of spans)
      if (span.from > from && span.to <= to) for (let at = span.from + 1; at <= span.to; at++) inner.add(at)
    const total = to - from + 1
    return { path, line: from + 1, name: nameOf(lines, from), own: total - inner.size, total }
  })
}

/** The name on the line, or above it where the parameters stand on lines of their own. */
const nameOf = (lines: readonly string[], from: number): string => {
  const line = lines[from] ?? ''
  const depth = line.search(/\S/)
  const head = line.trimStart().startsWith(')')
    ? (lines.slice(0, from).findLast((each) => each.search(/\S/) === depth) ?? line)
    : line
  const [, declared, method] = nameIn.exec(head) ?? []
  return declared ?? method ?? 'a function without a name'
}

/** Those that are too long, by `path name`. This list may only get shorter, and no number in it larger. */
export type LongFunctions = Readonly<Record<string, { readonly own?: number; readonly total?: number }>>

/** The rule, with what is still allowed to be longer and how long. */
export const functionSizeBut =
  (known: LongFunctions): Rule =>
  (source) => {
    if (!source.path.startsWith('src/') || source.path.endsWith('.test.ts')) return []
    return functionsOf(source).flatMap(({ path, name, line, own, total }) => {
      const most = { own: OWN_LINES_MAX, total: LINES_MAX, ...known[`${path} ${name}`] }
      if (own > most.own)
        return [`${name} at line ${line} has ${own} lines of its own, more than ${most.own}`]
      return total > most.total
        ? [`${name} at line ${line} has ${total} lines with the functions inside it, more than ${most.total}`]
        : []
    })
  }

/** Entries of the list that are needed no more: the function is gone, or keeps the rule. */
export const staleLongFunctions = (known: LongFunctions, sources: readonly Source[]): string[] => {
  const long = new Set(
    sources
      .flatMap(functionsOf)
      .filter(({ own, total }) => own > OWN_LINES_MAX || total > LINES_MAX)
      .map(({ path, name }) => `${path} ${name}`),
  )
  return Object.keys(known).filter((each) => !long.has(each))
}
