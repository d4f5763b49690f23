/** The text of a web page, read by the runtime's HTMLRewriter. */
import type { Make } from '../../../src/vendors/local/product.ts'

/** Elements that begin on a new line. Source: HTML, section 15.3, display: block and list-item. */
const BLOCKS =
  'address,article,aside,blockquote,br,dd,div,dl,dt,figcaption,figure,footer,form,h1,h2,h3,h4,h5,h6,header,hr,li,main,nav,ol,p,pre,section,table,tr,ul'
const UNSEEN = 'script,style,noscript,template,iframe,svg,title'

const NAMED: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
  ndash: '–',
  mdash: '—',
  hellip: '…',
  lsquo: '‘',
  rsquo: '’',
  ldquo: '“',
  rdquo: '”',
  copy: '©',
  reg: '®',
  euro: '€',
}

const MOST_POINT = 0x10ffff

const decoded = (text: string): string =>
  text.replace(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z]{2,8}));/gi, (all, decimal, hex, name) => {
    if (name !== undefined) return NAMED[name] ?? all
    const point = decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal)
    return point <= MOST_POINT && (point < 0xd800 || point > 0xdfff) ? String.fromCodePoint(point) : all
  })

/** White space as a reader sees it: one blank between words, one line break between blocks. */
const tidied = (text: string): string =>
  decoded(text)
    .split('\n')
    .map((line) => line.trim().replace(/\s+/g, ' '))
    .filter((line) => line !== '')
    .join('\n')

/** Where a page declares its language. */
const HEAD_BYTES = 1_024

const decodedPage = (bytes: Uint8Array): string => {
  const head = new TextDecoder('latin1').decode(bytes.subarray(0, HEAD_BYTES))
  const [, said = 'utf-8'] = /<meta[^>]{1,200}charset=["']?([a-z0-9_-]{1,40})/i.exec(head) ?? []
  try {
    return new TextDecoder(said as 'utf-8').decode(bytes)
  } catch {
    return new TextDecoder().decode(bytes)
  }
}

/** Title, language and visible text of a page. */
export const makePageText: Make = async ({ html }, bytes) => {
  let title = ''
  let language: string | null = null
  const pieces: string[] = []
  let unseen = 0
  const rewriter = new HTMLRewriter()
    .on('html', {
      element: (element) => {
        language = element.getAttribute('lang')
      },
    })
    .on('title', {
      text: (chunk) => {
        title += chunk.text
      },
    })
    .on(UNSEEN, {
      element: (element) => {
        if (element.selfClosing || !element.canHaveContent) return
        unseen++
        element.onEndTag(() => void unseen--)
      },
    })
    .on(BLOCKS, {
      element: (element) => {
        pieces.push('\n')
        if (element.canHaveContent) element.onEndTag(() => void pieces.push('\n'))
      },
    })
    .onDocument({
      text: (chunk) => {
        // Line breaks of the source count as blanks.
        if (unseen === 0) pieces.push(chunk.text.replace(/\n/g, ' '))
      },
    })
  const page = typeof html === 'string' ? html : decodedPage(bytes)
  await rewriter.transform(new Response(page)).text()
  const text = tidied(pieces.join(''))
  return { json: { title: tidied(title), language, text, characters: text.length } }
}
