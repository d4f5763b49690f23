/** The text of PDF files, by unpdf (pdf.js). */
import type { Make } from '../../../src/vendors/local/product.ts'
import { WrongInput } from './wrong-input.ts'

const LETTERS_MAX = 2_000_000

const openPdf = async (bytes: Uint8Array<ArrayBuffer>) => {
  const { getDocumentProxy } = await import('unpdf')
  try {
    return await getDocumentProxy(bytes, { isEvalSupported: false, stopAtErrors: true })
  } catch {
    throw new WrongInput('url', "'url' is no PDF that can be read here")
  }
}

type Pdf = Awaited<ReturnType<typeof openPdf>>

const textOf = async (pdf: Pdf, number: number): Promise<string> => {
  try {
    const { items } = await (await pdf.getPage(number)).getTextContent()
    return items.map((item) => ('str' in item ? item.str + (item.hasEOL ? '\n' : '') : '')).join('')
  } catch {
    throw new WrongInput('url', `page ${number} of 'url' cannot be read`)
  }
}

/** The text of the first pages, how many pages were read, and how many there are. */
export const makePdfText: Make = async ({ max_pages }, bytes) => {
  const pdf = await openPdf(bytes)
  const pages: string[] = []
  let letters = 0
  for (let number = 1; number <= Math.min(pdf.numPages, Number(max_pages)); number++) {
    const text = await textOf(pdf, number)
    letters += text.length
    if (letters > LETTERS_MAX)
      throw new WrongInput('max_pages', `'max_pages': these pages hold more than ${LETTERS_MAX} letters`)
    pages.push(text)
  }
  return { json: { text: pages.join('\n\n'), pages, total_pages: pdf.numPages } }
}
