/** The page of products that are not chat: what each costs, and where we read its price. */
import type { MediaModel, UnpricedModel } from '../src/media/product.ts'
import type { Vendor } from '../src/vendors/vendor.ts'

const textOf = (value: unknown): string =>
  Array.isArray(value) ? value.map(String).join(', ') : String(value)

/** `0.04 an image where size is 1024x1024`, one a row of the card. */
const pricesOf = ({ card }: MediaModel): string =>
  card.rows
    .map(({ rates, when = {} }) => {
      const prices = Object.entries(rates).map(
        ([unit, { usd, per }]) => `${usd} / ${per === 1 ? '' : `${per.toLocaleString('en')} `}${unit}`,
      )
      const where = Object.entries(when).map(([name, value]) => `${name} ${textOf(value)}`)
      return prices.join(', ') + (where.length === 0 ? '' : ` where ${where.join(' and ')}`)
    })
    .join('; ')

const unitsOf = ({ most }: UnpricedModel): string =>
  Object.keys(most)
    .map((unit) => `\`${unit}_usd_per_1m\``)
    .join(', ')

/** The first calls of a fresh server without a vendor key; a test runs each block unchanged. */
const FIRST_CALLS = [
  'A fresh server makes these without a vendor key. `GATE` is its address, such as `http://localhost:8080`, and `KEY` a key.',
  '',
  'A picture; the answer contains an address that anybody may read for a day:',
  '',
  '```sh',
  'curl -s "$GATE/v1/image/generate" -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" \\',
  '  -d \'{"model": "local/sketch-1", "prompt": "a lighthouse at dawn", "size": "256x256"}\' |',
  '  sed \'s/.*"image_url":"\\([^"]*\\)".*/\\1/\' | xargs curl -s -o lighthouse.png',
  '```',
  '',
  'A spoken sentence (after `npm run add -- media`):',
  '',
  '```sh',
  'curl -s "$GATE/v1/audio/speech" -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" \\',
  '  -d \'{"model": "local/speech-1", "input": "The sea rises twice a day.", "voice": "slt"}\' -o tides.wav',
  '```',
  '',
  'A QR code; `/v1/run` takes every product, with its own inputs:',
  '',
  '```sh',
  'curl -s "$GATE/v1/run" -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" \\',
  '  -d \'{"model": "local/qr-1", "inputs": {"text": "https://example.com/"}}\' |',
  '  sed \'s/.*"outputs":.*"url":"\\([^"]*\\)".*/\\1/\' | xargs curl -s -o code.png',
  '```',
  '',
  'The text of a page:',
  '',
  '```sh',
  'curl -s "$GATE/v1/run" -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" \\',
  '  -d \'{"model": "local/page-text-1", "inputs": {"html": "<title>Tides</title><p>The sea rises twice a day."}}\' \\',
  '  -o page.json',
  '```',
  '',
  'A file that you upload once and name as an input; here we ask for its length:',
  '',
  '```sh',
  'FILE=$(curl -s "$GATE/v1/files" -H "Authorization: Bearer $KEY" -F purpose=user_data -F file=@tides.wav |',
  '  sed \'s/.*"id":"\\([^"]*\\)".*/\\1/\')',
  'curl -s "$GATE/v1/run" -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" \\',
  '  -d "{\\"model\\": \\"local/media-info-1\\", \\"inputs\\": {\\"url\\": \\"$FILE\\"}}" -o info.json',
  '```',
  '',
  '## Official clients',
  '',
  'These run with only the address and the key changed: `openai` (images, edits, audio, moderations, files), `cohere-ai` (rerank),',
  'the AI SDK (image, speech, transcription) and `@google/genai`. Google’s client makes pictures with `models.generateContent`; the',
  'picture is a part of the answer. With `vertexai: true` it also has `models.generateImages`, and `models.generateVideos` with',
  '`operations.getVideosOperation`. There the models of every vendor are `<vendor>/<model>`, a film is its address (`video.uri`,',
  'signed, so it needs no key), and inputs that the model does not take are refused. `config.numberOfVideos` may be 1.',
  '',
  'OpenAI’s client makes films by `client.videos`: `create` (`input_reference`, `seconds` and `size` are written as each model’s own',
  'inputs), `retrieve`, `list`, `downloadContent` and `delete`. A film is a run, with the same id; its prompt and size are not kept.',
  '`delete` stops one that is being made, or ends the bytes of one that was made. `remix`, `edit`, `extend` and characters are a 400.',
  '',
  'Google’s client keeps files by `client.files`: `upload` in parts, `get`, `list` and `delete`, under `/v1beta` and `/v1`. Vendors do',
  'not know them, so a call that names one (`fileData.fileUri`) is sent with its content, and may be as large as any body',
  '(`BODY_BYTES_MAX`). Anthropic’s client has files in its own shape at `/v1/files`, and OpenAI’s',
  '`client.uploads` sends one in parts, which are kept for an hour.',
  '',
] as const

type Rows = (heads: readonly string[], rows: readonly (readonly string[])[]) => string

/** The body of docs/media.md. */
export const mediaPage = (vendors: readonly Vendor[], rowsOf: Rows): string => {
  const sold = vendors.flatMap(({ name, id, media }) =>
    (media?.models ?? []).map((model) => [
      name,
      `\`${id}/${model.name}\``,
      model.category,
      model.shape.flow === 'job' ? 'job' : 'at once',
      pricesOf(model),
      model.source,
    ]),
  )
  const waiting = vendors.flatMap(({ name, media }) =>
    (media?.waiting ?? []).map((one) =>
      'why' in one ? [name, one.name, one.why, ''] : [name, one.name, one.source, unitsOf(one)],
    ),
  )
  const unverified = vendors.flatMap(({ name, media }) =>
    media?.unverified === undefined ? [] : [[name, media.unverified]],
  )
  return [
    ...FIRST_CALLS,
    '## Products and prices',
    '',
    'Prices are the vendors’ own, in USD, before the markup. We price a call by its inputs before we send it, and charge it for',
    'what came. Units that the vendor counts (tokens) are charged as counted, up to what was held. A product that costs by the',
    'second is charged by the length of the stored film or sound, where the vendor gives none.',
    '',
    rowsOf(['vendor', 'product', 'category', 'answered', 'price', 'where we read the price'], sold),
    '',
    'Units: `image`, `song`, `search`, `page` and `character` are counts; `pixel` counts those of all pictures or frames;',
    '`video_ms` and `audio_ms` are milliseconds; `credit` is the vendor’s own; `call` is a whole run; `cost` is a billionth of',
    'a dollar of the vendor’s own bill; the others are tokens.',
    '',
    '## What was verified',
    '',
    'Each vendor’s own client or reference has the paths, members and states; the table says where the prices are. We asked no',
    'vendor with a key. These points rest on memory or on others, and must be checked first when there is a key:',
    '',
    rowsOf(['vendor', 'not verified'], unverified),
    '',
    '## Waiting for a price',
    '',
    'We sell these only when we have read a price in a place that we trust. A product with a setting is described and tested: it',
    'is sold once `prices` in turnpike.yaml gives its price under `<vendor id>/<product>`, in USD for a million units; or `media`,',
    'which also takes several prices by inputs, and products that are not known here (turnpike.example.yaml).',
    '',
    rowsOf(['vendor', 'product', 'why', 'setting'], waiting),
  ].join('\n')
}
