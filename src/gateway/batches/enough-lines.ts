/** Lines whose vendor takes no few of them: they wait until there are enough of one way, or are run here. */
import type { NewLine } from '../../store/batches/batch-port.ts'
import type { PlannedLine } from './plan-line.ts'

/** `handsOn`: whether such lines are handed on at all; if not, they are run here. */
export const enoughLines = (handsOn: boolean) => {
  const waiting = new Map<string, { readonly line: NewLine; readonly here: NewLine }[]>()
  const full = new Set<string>()
  return {
    /** The lines that are ready with this one. */
    add: (line: NewLine, few: PlannedLine['few']): readonly NewLine[] => {
      if (few === undefined || full.has(line.route)) return [line]
      const here = { ...line, route: '', bound: few.bound() }
      if (!handsOn) return [here]
      const before = waiting.get(line.route) ?? []
      before.push({ line, here })
      if (before.length < few.least) {
        waiting.set(line.route, before)
        return []
      }
      full.add(line.route)
      waiting.delete(line.route)
      return before.map((one) => one.line)
    },
    /** The lines that were too few, to be run here. */
    rest: (): readonly NewLine[] => [...waiting.values()].flat().map(({ here }) => here),
  }
}
