/**
 * Conditions on where a call may go, in the words of whoever asks: a wallet's rules, a key, or the call's own header. All
 * that are asked hold together.
 */
import { invalid, type Refusal } from '../core/refusal.ts'

export const REQUIRE_HEADER = 'X-Turnpike-Require'

/**
 * Regions by name, each with the larger one that it lies in: `de` is in `eu`. Only members of the European Union are in
 * `eu`.
 */
const regions = {
  eu: undefined,
  de: 'eu',
  fr: 'eu',
  ie: 'eu',
  us: undefined,
  uk: undefined,
  ch: undefined,
  ca: undefined,
  au: undefined,
  in: undefined,
  jp: undefined,
  kr: undefined,
  sg: undefined,
  br: undefined,
  cn: undefined,
} as const

export type Region = keyof typeof regions
export const regionNames = Object.keys(regions) as readonly Region[]

export type Condition = 'zdr' | 'no_training' | `region=${Region}`

/** Nothing is asked. The one list of its kind, so that a plain call is known by comparing. */
export const NO_CONDITIONS: readonly Condition[] = []

const known: ReadonlySet<string> = new Set([
  'zdr',
  'no_training',
  ...regionNames.map((name) => `region=${name}`),
])

export const isCondition = (text: string): text is Condition => known.has(text)

/** What conditions there are, as refusals say it. */
export const CONDITION_FORM = `zdr, no_training and region=<one of ${regionNames.join(', ')}>`

/** The conditions in a text such as `zdr,region=eu`; `param` is where it came from. */
export const conditionsIn = (param: string, text: string): readonly Condition[] | Refusal => {
  const asked: Condition[] = []
  for (const word of text.split(',').map((one) => one.trim())) {
    if (!isCondition(word))
      return invalid(
        param,
        `'${param}' names '${word.slice(0, 60)}', which is no condition; there are ${CONDITION_FORM}, separated by commas.`,
      )
    asked.push(word)
  }
  return together(asked)
}

/** All conditions of the lists, each once and in one order; `NO_CONDITIONS` if there is none. */
export const together = (...lists: readonly (readonly string[] | undefined)[]): readonly Condition[] => {
  const all = [...new Set(lists.flatMap((list) => list ?? []))].filter(isCondition).sort()
  return all.length === 0 ? NO_CONDITIONS : all
}

/** What a vendor does by default, does for accounts that arranged it, or does not do; nothing is known where it is absent. */
export type Standing = 'yes' | 'on_request' | 'no'

/** What is known of where a call would go. */
export type HandlingFacts = {
  readonly zdr?: Standing
  readonly noTraining?: Standing
  readonly region?: Region
}

/** Whether a place meets a condition. What is not known meets none. */
export const meets = (facts: HandlingFacts, condition: Condition): boolean => {
  if (condition === 'zdr') return facts.zdr === 'yes'
  if (condition === 'no_training') return facts.noTraining === 'yes'
  const { region } = facts
  const asked = condition.slice('region='.length)
  return region !== undefined && (region === asked || regions[region] === asked)
}

/** Whether nothing of a call under these conditions is kept here. */
export const keepsNothing = ({ conditions }: { readonly conditions?: readonly Condition[] }): boolean =>
  conditions?.includes('zdr') === true
