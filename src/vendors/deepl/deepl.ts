/** DeepL's translation. Source: npm deepl-node 1.28.0; DeepL help centre, "Character count and billing in DeepL API". */
import { z } from 'zod'
import { postJson } from '../../media/post-json.ts'
import type { VendorMedia } from '../../media/product.ts'
import { countAt, listAt, objectOf, textAt } from '../../media/read-answer.ts'
import type { Inputs } from '../../media/shape.ts'
import { noChat } from '../no-chat.ts'
import type { Vendor } from '../vendor.ts'

const TEXTS_MAX = 50
const LETTERS_MAX = 30_000

const textsOf = ({ text }: Inputs): readonly string[] =>
  Array.isArray(text) ? text.map(String) : [String(text)]

const lettersOf = (inputs: Inputs): number => textsOf(inputs).reduce((sum, { length }) => sum + length, 0)

const language = z
  .string()
  .regex(/^[A-Z]{2}(?:-[A-Z]{2,4})?$/, { message: 'must be a language such as DE or EN-GB' })

const deeplMedia: VendorMedia = {
  unverified: 'limits, the price in dollars',
  models: [],
  waiting: [
    {
      name: 'translate',
      category: 'utility',
      title: 'DeepL Translate',
      description: 'Translates one text or several; billed by the letters of the original.',
      inputs: z.strictObject({
        text: z.union([
          z.string().min(1).max(LETTERS_MAX),
          z.array(z.string().min(1).max(LETTERS_MAX)).min(1).max(TEXTS_MAX),
        ]),
        target_lang: language,
        source_lang: language.optional(),
        formality: z.enum(['default', 'more', 'less', 'prefer_more', 'prefer_less']).default('default'),
      }),
      example: { text: 'The gate is open.', target_lang: 'DE' },
      shape: {
        flow: 'once',
        ask: (inputs) =>
          postJson('/v2/translate', { ...inputs, text: textsOf(inputs), show_billed_characters: true }),
        read: (answer, inputs) => {
          const body = objectOf(answer)
          const translations = listAt(body, 'translations')
          if (body === undefined || translations?.length !== textsOf(inputs).length) return undefined
          const texts = translations.map((one) => textAt(one, 'text'))
          if (texts.some((text) => text === undefined)) return undefined
          const billed = translations.map((one) => countAt(one, 'billed_characters'))
          const counted = billed.reduce<number>((sum, one) => sum + (one ?? Number.NaN), 0)
          return {
            verdict: 'done',
            outputs: texts.map((text) => ({ type: 'text', text: text ?? '' })),
            body,
            measured: { character: Number.isNaN(counted) ? lettersOf(inputs) : counted },
          }
        },
      },
      most: { character: lettersOf },
      source: 'the vendor publishes a price in euros only (0.00002 a letter, date unknown)',
    },
  ],
}

/** DeepL: translation. Source: npm deepl-node 1.28.0; keys that end in :fx belong to https://api-free.deepl.com. */
export const deepl = {
  ...noChat,
  id: 'deepl',
  name: 'DeepL',
  keyVariable: 'DEEPL_API_KEY',
  baseUrl: 'https://api.deepl.com',
  auth: 'DeepL-Auth-Key',
  media: deeplMedia,
} satisfies Vendor
