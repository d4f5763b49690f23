/**
 * The refusal of a model that is not sold: when it ended, or which model was probably meant; and of one that is sold,
 * but takes other calls.
 */
import type { Category, Model, ModelKind } from '../../core/model.ts'
import { type Refusal, refuse } from '../../core/refusal.ts'
import type { Catalogue } from '../../pricing/catalogue.ts'
import { nearestModel } from '../../pricing/spelling.ts'
import { categoryOf } from '../../products/capabilities.ts'

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

const addresses: Partial<Readonly<Record<Category, string>>> = {
  chat: '/v1/chat/completions',
  embeddings: '/v1/embeddings',
}

/** The refusal of a model that is sold under the name, but not for these calls. */
export const otherKind = (model: Model, name: string, wanted: Category | ModelKind): Refusal => {
  const category = categoryOf(model)
  const takes = `POST ${addresses[category] ?? '/v1/run'} takes it.`
  return refuse('model_not_found', `'${name}' is no ${wanted} model but one of ${category}: ${takes}`, {
    members: { param: 'model' },
  })
}
