/** The lines of a part's output that say why it failed. */

const ENDED = /^\((pass|fail|skip|todo)\) /
/** The beginning of our own runners' line about a failure. */
const OWN = /^(MISSED|FAILED) /
const LINES_EACH = 60
const LINES_LAST = 40

/**
 * Takes out of a part's output each failed test, with the lines it printed before its name, and then the last lines of
 * all. So a record that keeps only the first lines of a run still names what failed.
 */
export const failuresOf = (output: string): string => {
  const lines = output.split('\n')
  const failures: string[] = []
  let from = 0
  lines.forEach((line, at) => {
    if (OWN.test(line)) failures.push(line)
    if (!ENDED.test(line)) return
    if (line.startsWith('(fail) ')) failures.push(line, ...lines.slice(Math.max(from, at - LINES_EACH), at))
    from = at + 1
  })
  return [...failures, ...lines.slice(-LINES_LAST)].join('\n')
}
