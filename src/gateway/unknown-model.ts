/** The refusal of a model that is not sold: when it ended, or which model was probably meant. */
import type { ModelKind } from '../core/model.ts'
import { type Refusal, refuse } from '../core/refusal.ts'
import type { Catalogue } from '../pricing/catalogue.ts'
import { nearestModel } from '../pricing/spelling.ts'

/** `listing` is where callers of this style list models. */
export const unknownModel = (
  catalogue: Catalogue,
  name: string,
  { kind, listing = '/v1/models' }: { readonly kind?: ModelKind; readonly listing?: string } = {},
): Refusal => {
  const ended = catalogue.ended(name)
  const near = ended === undefined ? nearestModel(name, catalogue, kind) : undefined
  const reason =
    ended === undefined
      ? `There is no ${kind === undefined ? '' : `${kind} `}model '${name}'`
      : `The vendor of '${name}' ended it on ${new Date(ended).toISOString().slice(0, 10)}`
  const help = near === undefined ? '' : `; did you mean '${near}'?`
  return refuse('model_not_found', `${reason}${help || ';'} GET ${listing} lists those your key can use.`, {
    members: { param: 'model' },
  })
}
