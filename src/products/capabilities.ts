/** What a model can do, in the words of the specification's descriptors. `GET /v1/models` uses the same words. */
import type { Category, Model } from '../core/model.ts'

const byCategory: Readonly<Record<Category, readonly string[]>> = {
  chat: ['intelligence', 'llm', 'text_generation'],
  embeddings: ['embeddings', 'text_embedding'],
  image: ['image_generation'],
  video: ['video_generation'],
  speech: ['text_to_speech'],
  transcription: ['speech_to_text'],
  music: ['music_generation'],
  video_editing: ['video_editing'],
  utility: ['utility'],
}

/** All categories, whether anything of them is sold here or not. */
export const categories = Object.keys(byCategory)

export const categoryOf = ({ product, kind }: Pick<Model, 'product' | 'kind'>): Category =>
  product?.category ?? (kind === 'embeddings' ? 'embeddings' : 'chat')

/** Adds `image_input` for products that take images, and so on. */
const mediaTaken = ({ product }: Model): readonly string[] =>
  ['image', 'audio', 'video']
    .filter((type) => product?.media.some(({ types }) => types.includes(`${type}/`)))
    .map((type) => `${type}_input`)

const known = new WeakMap<Model, readonly string[]>()

/** Each once, the general ones first. */
export const capabilitiesOf = (model: Model): readonly string[] => {
  const made = known.get(model)
  if (made !== undefined) return made
  const all = [
    ...new Set([
      ...byCategory[categoryOf(model)],
      ...model.capabilities,
      ...mediaTaken(model),
      ...(model.product?.flow === 'job' ? ['asynchronous'] : []),
    ]),
  ]
  known.set(model, all)
  return all
}
