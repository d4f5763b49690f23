/**
 * An invoice or credit note as a PDF: A4, in letters of all European languages, with nothing fetched. The same bill gives
 * the same bytes, because all that a PDF says of its making is when the bill was closed.
 */
/// <reference path="./fonts.d.ts" />

import plain from '@expo-google-fonts/inter/400Regular/Inter_400Regular.ttf' with { type: 'file' }
import bold from '@expo-google-fonts/inter/600SemiBold/Inter_600SemiBold.ttf' with { type: 'file' }
import PDFDocument from 'pdfkit'
import { dayOf } from '../../core/time.ts'
import type { Bill, BillDocument } from '../../store/tenants/bill-port.ts'

type Doc = InstanceType<typeof PDFDocument>

const [LEFT, RIGHT, TOP, BOTTOM] = [56, 539, 56, 770]
const WIDTH = RIGHT - LEFT
const [INK, GREY, RULE] = ['#1a1a1a', '#666666', '#cccccc']

const months = 'January February March April May June July August September October November December'.split(
  ' ',
)
const monthText = (month: string) => `${months[Number(month.slice(5)) - 1]} ${month.slice(0, 4)}`

/** `1234567.50` as people read it: `1,234,567.50`. */
const grouped = (decimal: string) => decimal.replace(/\B(?<!\..*)(?=(\d{3})+(?!\d))/g, ',')
const countText = (count: number) => grouped(String(count))

const fonts = Promise.all([plain, bold].map(async (path) => Buffer.from(await Bun.file(path).arrayBuffer())))

const opened = async (info: PDFKit.DocumentInfo): Promise<{ doc: Doc; bytes: Promise<Buffer> }> => {
  const [regular, semibold] = await fonts
  const margins = { left: LEFT, right: 595 - RIGHT, top: TOP, bottom: 20 }
  // Its own fonts would be read from files beside its code, which the program as one file does not have.
  const doc = new PDFDocument({ size: 'A4', margins, info, bufferPages: true, font: null as never })
  const pieces: Buffer[] = []
  doc.on('data', (piece: Buffer) => pieces.push(piece))
  const bytes = new Promise<Buffer>((resolve) => doc.on('end', () => resolve(Buffer.concat(pieces))))
  doc.registerFont('plain', regular as never).registerFont('bold', semibold as never)
  return { doc, bytes }
}

/** Whether the bytes are an image that a PDF can hold. */
export const canDraw = async (image: Buffer): Promise<boolean> => {
  const { doc } = await opened({})
  try {
    doc.image(image, 0, 0, { fit: [100, 100] })
    doc.end()
    return true
  } catch {
    return false
  }
}

type Style = {
  readonly size?: number
  readonly font?: 'plain' | 'bold'
  readonly colour?: string
  readonly align?: 'right'
}

/** Writes at a place; returns where the next line begins. */
const write = (doc: Doc, text: string, x: number, y: number, width: number, style: Style = {}): number => {
  const { size = 9.5, font = 'plain', colour = INK, align } = style
  doc.font(font).fontSize(size).fillColor(colour)
  // Digits of one width, so that amounts stand below each other.
  doc.text(text, x, y, { width, lineGap: 2, ...(align === undefined ? {} : { align, features: ['tnum'] }) })
  return doc.y
}

const rule = (doc: Doc, y: number, colour = RULE) =>
  doc.moveTo(LEFT, y).lineTo(RIGHT, y).lineWidth(0.7).strokeColor(colour).stroke()

const head = (doc: Doc, bill: Bill, logo: Buffer | undefined): number => {
  const { seller, buyer, reference, credits } = bill.document
  const half = WIDTH / 2 - 12
  if (logo !== undefined) doc.image(logo, RIGHT - 160, TOP, { fit: [160, 56], align: 'right' })
  let y = write(doc, seller.name, LEFT, TOP, half, { font: 'bold', size: 12 })
  y = write(doc, seller.address, LEFT, y, half, { colour: GREY })
  if (seller.tax_id !== undefined) y = write(doc, `Tax ID ${seller.tax_id}`, LEFT, y, half, { colour: GREY })
  if (seller.email !== undefined) y = write(doc, seller.email, LEFT, y, half, { colour: GREY })
  const top = Math.max(y, TOP + 60) + 28
  y = write(doc, buyer.name, LEFT, top, half, { font: 'bold' })
  if (buyer.address !== '') y = write(doc, buyer.address, LEFT, y, half)
  if (buyer.tax_id !== undefined) y = write(doc, `Tax ID ${buyer.tax_id}`, LEFT, y, half)
  const facts: (readonly [string, string])[] = [
    [credits === undefined ? 'Invoice number' : 'Credit note number', bill.number],
    ['Date', dayOf(bill.issuedAt)],
    ...(credits === undefined ? [['Due', dayOf(bill.dueAt)] as const] : []),
    ['Period', `${monthText(bill.month)}, UTC`],
    ...(reference === null ? [] : [['Customer reference', reference] as const]),
    ...(credits === undefined
      ? []
      : ([
          ['Takes back invoice', credits.number],
          ['Invoice date', credits.issued_at.slice(0, 10)],
        ] as const)),
  ]
  let at = top
  for (const [name, value] of facts) {
    write(doc, name, LEFT + half + 24, at, 110, { colour: GREY })
    at = write(doc, value, LEFT + half + 134, at, half - 110, { align: 'right' })
  }
  y = Math.max(y, at) + 24
  y = write(doc, `${credits === undefined ? 'Invoice' : 'Credit note'} ${bill.number}`, LEFT, y, WIDTH, {
    font: 'bold',
    size: 17,
  })
  return credits === undefined ? y + 10 : write(doc, credits.reason, LEFT, y, WIDTH, { colour: GREY }) + 10
}

/** The size of letters in the table, and how wide its columns are. */
const ROW = 9
const columns = [167, 60, 84, 84, 88] as const

const row = (doc: Doc, cells: readonly string[], y: number, style: Style): number => {
  let [x, end] = [LEFT, y]
  for (const [at, width] of columns.entries()) {
    const align = at === 0 ? {} : ({ align: 'right' } as const)
    end = Math.max(end, write(doc, cells[at] ?? '', x, y, width, { ...style, ...align }))
    x += width
  }
  return end
}

const tableHead = (doc: Doc, currency: string, y: number): number => {
  const cells = ['Model', 'Calls', 'Input tokens', 'Output tokens', currency]
  const end = row(doc, cells, y, { colour: GREY, size: 8.5 }) + 3
  rule(doc, end, INK)
  return end + 5
}

const nextPage = (doc: Doc): number => {
  doc.addPage()
  return TOP
}

const table = (doc: Doc, { lines, seller }: BillDocument, from: number): number => {
  let y = tableHead(doc, seller.currency, from)
  for (const line of lines) {
    const name = line.model === '' ? 'recovered calls' : line.model
    doc.font('plain').fontSize(ROW)
    if (y + doc.heightOfString(name, { width: columns[0], lineGap: 2 }) > BOTTOM - 20)
      y = tableHead(doc, seller.currency, nextPage(doc))
    const counts = [line.requests, line.input_tokens, line.output_tokens].map(countText)
    y = row(doc, [name, ...counts, grouped(line.amount)], y, { size: ROW }) + 3
    rule(doc, y - 1)
    y += 3
  }
  return y
}

const totals = (doc: Doc, bill: Bill, from: number): void => {
  const { net, taxes, total, seller, credits } = bill.document
  const { currency, usd_rate: rate } = seller
  let y = from + 60 + taxes.length * 16 > BOTTOM - 60 ? nextPage(doc) : from + 6
  const sum = (name: string, amount: string, style: Style = {}) => {
    const end = write(doc, name, LEFT + 60, y, WIDTH - 250, style)
    y =
      Math.max(
        end,
        write(doc, `${grouped(amount)} ${currency}`, RIGHT - 180, y, 180, { ...style, align: 'right' }),
      ) + 3
  }
  sum('Net', net)
  for (const { name, percent, amount } of taxes) sum(`${name} ${percent} %`, amount)
  rule(doc, y, INK)
  y += 5
  sum(credits === undefined ? 'Total payable' : 'Total given back', total, { font: 'bold', size: 11.5 })
  const notes = [
    credits === undefined
      ? `Payable until ${dayOf(bill.dueAt)}. Please name ${bill.number} with your payment.`
      : '',
    currency === 'USD' ? '' : `Prices are in USD; 1 USD = ${rate} ${currency}.`,
    'The sum is rounded once; the lines are rounded so that they add up to it.',
  ].filter((note) => note !== '')
  write(doc, notes.join('\n'), LEFT, y + 18, WIDTH, { colour: GREY, size: 8.5 })
}

const feet = (doc: Doc, { number, document: { seller } }: Bill): void => {
  const { count } = doc.bufferedPageRange()
  for (let page = 0; page < count; page++) {
    doc.switchToPage(page)
    write(doc, `${seller.name} · ${number}`, LEFT, 796, WIDTH - 80, { colour: GREY, size: 8 })
    write(doc, `Page ${page + 1} of ${count}`, RIGHT - 80, 796, 80, { colour: GREY, size: 8, align: 'right' })
  }
}

/** The PDF of a bill; `logo` are the bytes of a PNG or JPEG that `canDraw` has passed. */
export const drawBill = async (bill: Bill, logo: Buffer | undefined): Promise<Buffer> => {
  const at = new Date(bill.issuedAt)
  const title = `${bill.kind === 'invoice' ? 'Invoice' : 'Credit note'} ${bill.number}`
  const { doc, bytes } = await opened({
    Title: title,
    Author: bill.document.seller.name,
    Producer: 'Turnpike',
    Creator: 'Turnpike',
    CreationDate: at,
    ModDate: at,
  })
  totals(doc, bill, table(doc, bill.document, head(doc, bill, logo)))
  feet(doc, bill)
  doc.end()
  return bytes
}
