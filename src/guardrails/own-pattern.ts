/**
 * Patterns of an organisation's own: letters, classes such as [A-F0-9], \d \w \s and a dot for any letter, each with ?, {n} or
 * {n,m}. There are no groups, alternatives, or repetitions without an end, so that no text takes more than a bounded number
 * of steps at any place.
 */
import { closed, type Detector, MORE, NONE } from './letters.ts'
import { asRead } from './reading.ts'

export const PATTERN_MOST = 200
/** Letters that one pattern may match: each has a bit. */
const LETTERS_MOST = 31
const ATOM = /\\[dDwWsS]|\\[^A-Za-z0-9]|\[\^?(?:\\.|[^\]\\])+\]|[^\\[\](){}|^$*+?]/y
const TIMES = /\?|\{(\d{1,3})(?:,(\d{1,3}))?\}/y

type Step = { readonly letter: RegExp; readonly optional: boolean }

/** The steps of a pattern, or what is wrong with it. */
const stepsOf = (source: string): readonly Step[] | string => {
  const steps: Step[] = []
  for (let at = 0; at < source.length; ) {
    ATOM.lastIndex = at
    const atom = ATOM.exec(source)?.[0]
    if (atom === undefined)
      return `has '${source.slice(at, at + 2)}', which is not offered: only letters, classes, \\d \\w \\s and ., each with ?, {n} or {n,m}`
    TIMES.lastIndex = at + atom.length
    const times = TIMES.exec(source)
    at += atom.length + (times?.[0].length ?? 0)
    const least = times === null ? 1 : Number(times[1] ?? 0)
    const most = times === null ? 1 : Number(times[2] ?? times[1] ?? 1)
    if (most < least || most === 0) return 'has a repetition that ends before it begins'
    if (steps.length + most > LETTERS_MOST) return `may match at most ${LETTERS_MOST} letters`
    let letter: RegExp
    try {
      letter = new RegExp(`^${atom}$`)
    } catch {
      return `has '${atom}', which is no class`
    }
    for (let count = 0; count < most; count++) steps.push({ letter, optional: count >= least })
  }
  return steps.some(({ optional }) => !optional) ? steps : 'must match at least one letter'
}

/** The detector of a pattern, or what is wrong with it. */
export const ownDetector = (name: string, source: string): Detector | string => {
  // Texts are read in plain letters, so patterns are.
  const plain = stepsOf(asRead(source))
  const steps = typeof plain === 'string' ? stepsOf(source) : plain
  if (typeof steps === 'string') return steps
  const first = steps.slice(0, steps.findIndex(({ optional }) => !optional) + 1)
  return {
    name,
    label: name.toUpperCase(),
    wide: true,
    begins: (code) => first.some(({ letter }) => letter.test(String.fromCharCode(code))),
    match: matcherOf(steps),
  }
}

const ASCII = 128

/** Follows all ways through the steps at once, a bit for each: a letter costs the same however many there are. */
const matcherOf = (steps: readonly Step[]): Detector['match'] => {
  const bitsOf = (takes: (step: Step) => boolean): number =>
    steps.reduce((bits, step, at) => (takes(step) ? bits | (1 << at) : bits), 0)
  const takenBy = (code: number): number => bitsOf(({ letter }) => letter.test(String.fromCharCode(code)))
  const taken = Int32Array.from({ length: ASCII }, (_, code) => takenBy(code))
  const optional = bitsOf((step) => step.optional)
  const done = 1 << steps.length
  return (text, at, ended) => {
    let end = NONE
    let ways = 1
    for (let here = at; ; here++) {
      for (let more = ways & optional; more !== 0; more &= optional) {
        more = (more << 1) & ~ways
        ways |= more
      }
      if ((ways & done) !== 0) {
        const closes = closed(text, here, ended)
        if (closes === MORE) return MORE
        if (closes !== NONE) end = closes
      }
      if (ways === 0) return end
      if (here >= text.length) return ended ? end : MORE
      const code = text.charCodeAt(here)
      ways = (ways & (code < ASCII ? (taken[code] ?? 0) : takenBy(code))) << 1
    }
  }
}
