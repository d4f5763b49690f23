/** A failed attempt at one deployment: what went wrong decides who may be asked next, and what rests. */
import type { Refusal } from '../core/refusal.ts'
import type { Deployment, Scope } from './deployments.ts'

export type FailedAttempt = { readonly refusal: Refusal } & (
  | {
      /**
       * `refused`: the call itself is at fault, and every vendor would say so. `unfit`: this model at its vendor cannot
       * take the call, but an equal model may. `failed`: the vendor failed and bills nothing, so it may be asked again
       * too. `may_bill`: the vendor stopped answering but may continue and bill, so nobody else is asked.
       */
      readonly outcome: 'refused' | 'unfit' | 'failed' | 'may_bill'
    }
  /** How long the vendor asked to be left alone. */
  | { readonly outcome: 'busy'; readonly restMs: number }
  /** The key is refused, or its funds are used up: none of its models answers. */
  | { readonly outcome: 'key_refused'; readonly restMs: number | undefined }
)

/** Whether no other deployment is asked afterwards. */
export const isLast = ({ outcome }: FailedAttempt): boolean => outcome === 'refused' || outcome === 'may_bill'

/** Whether a deployment can be skipped, after what it or another one said. */
export const rulesOut = ({ outcome }: FailedAttempt, tried: Deployment, one: Deployment): boolean => {
  switch (outcome) {
    case 'unfit':
      return one.model === tried.model
    case 'busy':
    case 'key_refused':
      return one === tried
    case 'refused':
    case 'may_bill':
      return true
    case 'failed':
      return false
  }
}

/** How long the vendor asked to be left alone; undefined when it did not say. */
export const requestedRestOf = (failed: FailedAttempt): number | undefined =>
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
