/** Rules of guardrails: what is looked for in the texts of calls, and what happens to it. Each rule is an object in a list. */
import { z } from 'zod'
import { publicHttpsUrl } from '../core/address.ts'
import { isObject, type Json } from '../core/json-body.ts'
import { invalid, Refusal } from '../core/refusal.ts'
import { detectors, groups } from './detectors.ts'
import type { Detector } from './letters.ts'
import { ownDetector, PATTERN_MOST } from './own-pattern.ts'
import { type Action, actions, Scanner } from './scanner.ts'

const RULES_MOST = 50
const HOOKS_MOST = 2
const known = [...Object.keys(groups), ...detectors.map(({ name }) => name)]

const action = z.enum(actions, `must be ${actions.join(', ')}`)
const on = z.enum(['input', 'output', 'both'], 'must be input, output or both').default('both')
const detector = z.enum(known, `must be among ${known.join(', ')}`)
const deadline = 'must be a whole number of milliseconds from 100 to 10000'

const pattern = z.string().max(PATTERN_MOST, `must have at most ${PATTERN_MOST} characters`)
const runs = pattern.superRefine((source, context) => {
  const read = ownDetector('own', source)
  if (typeof read === 'string') context.addIssue(read)
})

/** The forms of rules by the member that tells them apart. */
const forms = {
  detect: z.strictObject({
    detect: z.union(
      [detector.transform((one) => [one]), z.array(detector).min(1)],
      `must be among ${known.join(', ')}`,
    ),
    action,
    on,
  }),
  pattern: z.strictObject({
    pattern: runs,
    name: z.string().regex(/^[a-z][a-z0-9_]{0,31}$/, 'must be small letters, digits and _, at most 32'),
    action,
    on,
  }),
  hook: z.strictObject({
    hook: z
      .string()
      .refine(
        (url) => !(publicHttpsUrl('hook', url) instanceof Refusal),
        'must be https, on a public server',
      ),
    /** Before the vendor is asked, or before its answer goes out. */
    phase: z.enum(['pre', 'post'], 'must be pre or post'),
    deadline_ms: z.int(deadline).min(100, deadline).max(10_000, deadline).default(2_000),
    /** What a hook that does not answer as it must does to the call: `closed` refuses it. */
    fail: z.enum(['closed', 'open'], 'must be closed or open').default('closed'),
  }),
  /** Images, files and sounds, into which nobody looks. */
  images: z.strictObject({ images: z.enum(['pass', 'refuse'], 'must be pass or refuse') }),
} as const

type Forms = { [Kind in keyof typeof forms]: Readonly<z.output<(typeof forms)[Kind]>> }
export type GuardRule = Forms[keyof Forms]
export type HookRule = Forms['hook']

export const guardrailsHelp =
  'What is looked for in the texts of calls, such as [{"detect": ["secrets"], "action": "block", "on": "input"}]; see docs/guardrails.md'

/** As the reference shows it. */
export const guardrailsShown = {
  type: ['array', 'null'],
  items: { type: 'object' },
  maxItems: RULES_MOST,
  description: guardrailsHelp,
}

const readRule = (name: string, said: Json): GuardRule | Refusal => {
  const kinds = Object.keys(forms) as (keyof typeof forms)[]
  const kind = isObject(said) ? kinds.find((one) => said[one] !== undefined) : undefined
  if (kind === undefined) return invalid(name, `'${name}' must be an object with one of ${kinds.join(', ')}.`)
  const read = forms[kind].safeParse(said)
  if (read.success) return read.data
  const [issue] = read.error.issues
  const member = [name, ...(issue?.path.slice(0, 1) ?? [])].join('.')
  const what =
    issue?.code === 'unrecognized_keys' ? `has no '${issue.keys[0]}' in a rule of ${kind}` : issue?.message
  return invalid(member, `'${member}' ${what}.`)
}

/** Reads the rules of a body; null removes them. */
export const readGuardrails = (value: Json): readonly GuardRule[] | null | Refusal => {
  if (value === null) return null
  const name = 'guardrails'
  if (!Array.isArray(value) || value.length === 0 || value.length > RULES_MOST)
    return invalid(name, `'${name}' must be null or a list of 1 to ${RULES_MOST} rules.`)
  const rules: GuardRule[] = []
  for (const [at, said] of value.entries()) {
    const rule = readRule(`${name}[${at}]`, said)
    if (rule instanceof Refusal) return rule
    rules.push(rule)
  }
  const hooks = rules.filter((rule) => 'hook' in rule)
  return hooks.length > HOOKS_MOST ? invalid(name, `'${name}' may have ${HOOKS_MOST} hooks at most.`) : rules
}

/** All rules that bind a call, ready for use. */
export type Policy = {
  readonly input: Scanner
  readonly output: Scanner
  readonly pre: readonly HookRule[]
  readonly post: readonly HookRule[]
  readonly images: 'pass' | 'refuse'
}

/** The policy of lists that are used together: of all rules for one thing, the strictest. */
export const policyOf = (lists: readonly (readonly GuardRule[])[]): Policy => {
  const rules = lists.flat()
  const hooks = rules.filter((rule) => 'hook' in rule)
  const images = rules.flatMap((rule) => ('images' in rule ? [rule.images] : []))
  return {
    input: scannerOf(rules, 'input'),
    output: scannerOf(rules, 'output'),
    pre: hooks.filter(({ phase }) => phase === 'pre'),
    post: hooks.filter(({ phase }) => phase === 'post'),
    images: images.length > 0 && images.every((one) => one === 'pass') ? 'pass' : 'refuse',
  }
}

const scannerOf = (rules: readonly GuardRule[], side: 'input' | 'output'): Scanner => {
  const found = new Map<string, { detector: Detector; action: Action }>()
  const watch = (id: string, detector: Detector, action: Action): void => {
    const known = found.get(id)?.action ?? 'log'
    found.set(id, { detector, action: actions.indexOf(known) < actions.indexOf(action) ? known : action })
  }
  for (const rule of rules) {
    if (!('action' in rule) || (rule.on !== side && rule.on !== 'both')) continue
    if ('pattern' in rule) {
      const detector = ownDetector(rule.name, rule.pattern)
      if (typeof detector !== 'string') watch(`${rule.name} ${rule.pattern}`, detector, rule.action)
      continue
    }
    const names = new Set(rule.detect.flatMap((name) => groups[name] ?? [name]))
    for (const detector of detectors)
      if (names.has(detector.name)) watch(detector.name, detector, rule.action)
  }
  return new Scanner([...found.values()])
}
