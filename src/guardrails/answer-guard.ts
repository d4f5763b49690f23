/** What guardrails do to one answer: placeholders become the caller's own texts again, and rules for answers apply. */
import { Refusal, refuse } from '../core/refusal.ts'
import { hookTextsOf } from './hook-texts.ts'
import type { Detector } from './letters.ts'
import type { Policy } from './rules.ts'
import { type Noted, Scanner } from './scanner.ts'
import { StreamTexts } from './stream-texts.ts'
import type { Vault } from './vault.ts'

/** Texts by those that they take the place of, in their order: equal ones may be changed in different ways. */
export type Replaced = ReadonlyMap<string, readonly { readonly now: string }[]>

type AnswerRules = {
  readonly policy: Pick<Policy, 'output'>
  /** What was taken out of the request; undefined if nothing was. */
  readonly vault: Vault | undefined
  readonly noted: Noted
  /** What hooks put in place of texts of a whole answer, or why it does not go out. */
  readonly approve?: ((json: string) => Promise<Replaced | Refusal>) | undefined
}

const encoder = new TextEncoder()
const decoder = new TextDecoder()

export const blockedBy = (rule: string, side: 'input' | 'output', why?: string): Refusal =>
  refuse(
    'guardrail_blocked',
    `The guardrails block this ${side === 'input' ? 'request' : 'answer'} (${rule})${why === undefined ? '' : `: ${why}`}.`,
    { members: { rule, side } },
  )

export class AnswerGuard {
  /** Why the answer does not go out, once that is known. */
  blocked: Refusal | undefined
  readonly #rules: AnswerRules
  readonly #scanner: Scanner
  readonly #placeholder: Detector | undefined
  #replaced: Replaced = new Map()

  constructor(rules: AnswerRules) {
    const { policy, vault } = rules
    this.#rules = rules
    this.#placeholder = vault?.detector()
    this.#scanner =
      this.#placeholder === undefined
        ? policy.output
        : new Scanner([...policy.output.watched, { detector: this.#placeholder, action: 'mask' }])
  }

  /** The texts of the answer as they come. */
  texts(noted: Noted = this.#rules.noted, scanner = this.#scanner): StreamTexts {
    const replace = (found: Detector, text: string): string =>
      found === this.#placeholder ? (this.#rules.vault?.value(text) ?? text) : `[${found.label}]`
    return new StreamTexts(scanner, replace, (detector, action, found) => {
      if (detector === this.#placeholder) return
      noted(detector, action, found)
      if (action === 'block') this.blocked ??= blockedBy(detector.name, 'output')
    })
  }

  /** The end of a stream that failed. It may say all that came once more, so what blocks is masked there too. */
  failed(events: string): string {
    const masked = this.#scanner.watched.map(({ detector, action }) => ({
      detector,
      action: action === 'block' ? ('mask' as const) : action,
    }))
    return this.texts(() => undefined, new Scanner(masked)).feed(events, true)
  }

  /** Asks the hooks about a whole answer, before it is charged. */
  async approve(body: Uint8Array): Promise<void> {
    const { approve } = this.#rules
    if (approve === undefined) return
    const said = await approve(this.texts(() => undefined).feed(decoder.decode(body), true))
    if (said instanceof Refusal) this.blocked ??= said
    else this.#replaced = said
  }

  /** A whole answer as its caller gets it. */
  whole(body: Uint8Array): Uint8Array {
    const json = this.texts().feed(decoder.decode(body), true)
    if (this.#replaced.size === 0) return encoder.encode(json)
    const its = hookTextsOf(json)
    const times = new Map<string, number>()
    const given = its.texts.map((text) => {
      const time = times.get(text) ?? 0
      times.set(text, time + 1)
      const those = this.#replaced.get(text)
      return (those?.[time] ?? those?.at(-1))?.now ?? text
    })
    return encoder.encode(its.with(given))
  }

  get asks(): boolean {
    return this.#rules.approve !== undefined
  }
}
