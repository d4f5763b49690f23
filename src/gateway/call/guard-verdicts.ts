/** What guardrails found in a call and did, where the log, the header, the receipt and the journal of outcomes read it. */
import type { Noted } from '../../guardrails/scanner.ts'
import type { Trace } from '../parts/trace.ts'

/** Counts one more of what a rule did; never what it found. */
export const noteVerdict = (trace: Trace, rule: string, verdict: string): void => {
  const before = trace.guardrails?.[rule]?.split(' ')[1] ?? '0'
  trace.guardrails = { ...trace.guardrails, [rule]: `${verdict} ${Number(before) + 1}` }
  trace.headers['x-guardrails'] = Object.entries(trace.guardrails)
    .map(([name, said]) => `${name}=${said.replace(' ', ':')}`)
    .join(', ')
}

export const noting =
  (trace: Trace, side: 'input' | 'output'): Noted =>
  ({ name }, action) =>
    noteVerdict(trace, `${side}.${name}`, action)
