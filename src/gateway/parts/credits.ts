/** Credits: the operator's unit for showing money. Never stored, never read back. */
import { type Ceiling, ceilingExceeded } from '../../admission/ceiling.ts'
import { decimalOfParts, type ExactNumber, exactNumber, type Nano } from '../../core/money.ts'
import type { Refusal } from '../../core/refusal.ts'
import type { Key } from '../../tenancy/key.ts'
import { tellsNothing, told } from '../../tenancy/terms.ts'

/** A nano-dollar of a credit of a cent is its seventh place, and of a credit of a dollar its ninth. */
const PLACES = 9
const SCALE = 1_000_000_000n

type Unit = { readonly options: { readonly creditNano: Nano } }

/** An amount in credits of `creditNano` nano-dollars each, as a decimal text to nine places, rounded down. */
export const inCredits = (amount: Nano, creditNano: Nano): string =>
  decimalOfParts((amount * SCALE) / creditNano, PLACES)

/** The available amount in credits, to nine decimals, rounded down. */
export const creditsOf =
  ({ options: { creditNano } }: Unit) =>
  (amount: Nano): ExactNumber =>
    exactNumber(inCredits(amount, creditNano))

/** The same rounded up, for what is required: a refusal must never show a need that seems to fit. */
export const neededInCredits = (amount: Nano, creditNano: Nano): string =>
  decimalOfParts((amount * SCALE + creditNano - 1n) / creditNano, PLACES)

/** The 402 for a call that costs more than its ceiling. */
export const tooDear = (
  gateway: Unit,
  { terms }: Pick<Key, 'terms'>,
  cost: Nano,
  ceiling: NonNullable<Ceiling>,
): Refusal => {
  if (tellsNothing(terms)) return ceilingExceeded(ceiling.name, undefined)
  const [required, amount] = [told(cost, terms), told(ceiling.amount, terms)]
  const credits = {
    required_credits: exactNumber(neededInCredits(required, gateway.options.creditNano)),
    available_credits: creditsOf(gateway)(amount),
  }
  return ceilingExceeded(ceiling.name, { required, amount, credits })
}
