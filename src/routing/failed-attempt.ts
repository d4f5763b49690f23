/** A failed attempt at one deployment: what went wrong decides who may be asked next, and what rests. */
import type { Refusal } from '../core/refusal.ts'
import type { Deployment, Scope } from './deployments.ts'

export type FailedAttempt = { readonly refusal: Refusal } & (
  | {
      /**
       * `refused`: the call itself is at fault, and all would say the same. `unfit`: this model at its vendor cannot take
       * the call, an equal model may. `failed`: the vendor failed and bills nothing, so that it too may be asked again.
       * `may_bill`: the vendor stopped answering and may go on and bill, so that nobody is asked.
       */
      readonly outcome: 'refused' | 'unfit' | 'failed' | 'may_bill'
    }
  /** The vendor asked to be left alone for so long. */
  | { readonly outcome: 'busy'; readonly restMs: number }
  /** The key is refused, or what pays for it is used up: no model of it answers. */
  | { readonly outcome: 'key_refused'; readonly restMs: number | undefined }
)

/** Whether nobody else is asked after it. */
export const isLast = ({ outcome }: FailedAttempt): boolean => outcome === 'refused' || outcome === 'may_bill'

/** Whether a deployment need not be asked, after what it or another one said. */
export const rulesOut = ({ outcome }: FailedAttempt, asked: Deployment, one: Deployment): boolean => {
  switch (outcome) {
    case 'unfit':
      return one.model === asked.model
    case 'busy':
    case 'key_refused':
      return one === asked
    case 'refused':
    case 'may_bill':
      return true
    case 'failed':
      return false
  }
}

/** How long the vendor asked to be left alone; undefined when it did not say. */
export const askedRestOf = (failed: FailedAttempt): number | undefined =>
  'restMs' in failed ? failed.restMs : undefined

/** What rests: this model at the key, or the key with all its models; undefined when the vendor is not at fault. */
export const restsAfter = ({ outcome }: FailedAttempt): Scope | undefined => {
  switch (outcome) {
    case 'refused':
    case 'unfit':
      return undefined
    case 'key_refused':
      return 'key'
    case 'busy':
    case 'failed':
    case 'may_bill':
      return 'model'
  }
}
