/** The texts of a request: looked through, with what rules mask replaced, and all other bytes as they came. */
import { isBinary, isNested, saidBy, textsIn, unescaped, withTexts } from './json-texts.ts'
import { type Noted, Scan, type Scanner } from './scanner.ts'
import { Vault } from './vault.ts'

/** Numbers with fewer digits are none of anybody's. */
const NUMBER_LEAST = 9
/** What vendors gave and take back sealed: bytes too, and longer than any secret. People's data has such names as well. */
const SEALED = new Set(['signature', 'encrypted_content', 'thoughtSignature', 'thought_signature'])
const SEALED_FORM = /^[\w+/=-]{200,}$/
/** Members that name an image, a file or a sound. */
const ATTACHED = new Set([
  'image_url',
  'file_url',
  'file_id',
  'fileUri',
  'file_uri',
  'video_url',
  'audio_url',
  'file_data',
])

type Masked = { readonly json: string; readonly vault: Vault; readonly attached: boolean }

export const maskBody = (json: string, scanner: Scanner, noted: Noted): Masked => {
  const vault = new Vault(json)
  let attached = false
  const masked = withTexts(json, textsIn(json), (text) => {
    const token = json.slice(text.start, text.end)
    if (text.kind === 'number' && token.length < NUMBER_LEAST) return undefined
    const said = text.kind === 'number' ? token : saidBy(token)
    const [name] = text.path.slice(-1)
    if (SEALED.has(name ?? '') && SEALED_FORM.test(said)) return undefined
    const binary = isBinary(said)
    if (binary || (text.kind === 'text' && isAttachment(text.path))) attached = true
    if (binary) return undefined
    return masks(said, isNested(text), { scanner, noted, vault })
  })
  return { json: masked, vault, attached }
}

const isAttachment = (path: readonly string[]): boolean =>
  ATTACHED.has(path.at(-1) ?? '') ||
  (path.at(-1) === 'url' && ['image_url', 'source'].includes(path.at(-2) ?? '')) ||
  (path.at(-1) === 'data' && ['inlineData', 'inline_data'].includes(path.at(-2) ?? ''))

type Masking = { readonly scanner: Scanner; readonly noted: Noted; readonly vault: Vault }

/** The text with placeholders; undefined if nothing in it is masked. */
const masks = (said: string, nested: boolean, { scanner, noted, vault }: Masking): string | undefined => {
  const scan = new Scan(scanner, noted)
  const pieces = scan.feed(said, true)
  if (!pieces.some(({ found }) => found !== undefined)) return undefined
  let out = ''
  let at = 0
  for (const { length, found } of pieces) {
    const text = scan.taken.slice(at, at + length)
    at += length
    out += found === undefined ? text : vault.put(found, nested ? unescaped(text) : text)
  }
  return out
}
