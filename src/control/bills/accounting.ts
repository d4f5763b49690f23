/** Invoices as files for accounting: a plain CSV, a DATEV booking batch, and what QuickBooks Online imports. */
import { invalid, refuse } from '../../core/refusal.ts'
import { dayOf } from '../../core/time.ts'
import type { Bill, BillDocument, Datev } from '../../store/tenants/bill-port.ts'
import { csvOf } from '../csv.ts'
import { statusOf } from './bills.ts'

const isNote = ({ kind }: Bill) => kind === 'credit_note'
/** A credit note takes off what its invoice asks for, and gives what that gave back. */
const signed = (bill: Bill, amount: string) =>
  !isNote(bill) ? amount : amount.startsWith('-') ? amount.slice(1) : `-${amount}`

/** One row a line of each invoice; a credit note takes off. */
export const plainCsv = (bills: readonly Bill[]): Buffer => {
  const head =
    'number,kind,status,issued,due,month,tenant,reference,customer,tax_id,model,requests,input_tokens,output_tokens,amount,currency'
  const rows = bills.flatMap((bill) => {
    const { document } = bill
    const { label, reference, buyer, seller, lines, taxes } = document
    const of = [bill.number, bill.kind, statusOf(bill), dayOf(bill.issuedAt), dayOf(bill.dueAt), bill.month]
    const whose = [label, reference, buyer.name, buyer.tax_id]
    return [
      ...lines.map(({ model, requests, input_tokens: input, output_tokens: output, amount }) => [
        ...of,
        ...whose,
        model,
        requests,
        input,
        output,
        signed(bill, amount),
        seller.currency,
      ]),
      ...taxes.map(({ name, percent, amount }) => [
        ...of,
        ...whose,
        `${name} ${percent} %`,
        ...['', '', ''],
        signed(bill, amount),
        seller.currency,
      ]),
    ]
  })
  return Buffer.from(csvOf({ name: '', head: head.split(','), rows }).text)
}

const usDay = (at: number) => dayOf(at).replace(/^(\d+)-(\d+)-(\d+)$/, '$2/$3/$1')

/** Taxes together, summed as whole thousandths: 8.1 and 0.2 are 8.3, which floats miss. */
const percentOf = (taxes: BillDocument['taxes']) =>
  taxes.reduce((sum, { percent }) => sum + Math.round(percent * 1_000), 0) / 1_000

/**
 * Invoices alone: the importer takes no credit notes. Source: the fields of Intuit's help page "Import multiple invoices in
 * QuickBooks Online" (quickbooks.intuit.com/learn-support), where those with an asterisk are required.
 */
export const quickBooksCsv = (bills: readonly Bill[]): Buffer => {
  const head =
    '*InvoiceNo,*Customer,*InvoiceDate,*DueDate,Terms,Memo,Item(Product/Service),ItemDescription,ItemQuantity,ItemRate,*ItemAmount,Taxable,TaxRate,Currency'
  const rows = bills
    .filter((bill) => !isNote(bill))
    .flatMap(({ number, issuedAt, dueAt, month, document: { buyer, seller, lines, taxes } }) =>
      lines.map(({ model, amount }) => [
        ...[number, buyer.name, usDay(issuedAt), usDay(dueAt), `Net ${seller.terms_days}`, `Use in ${month}`],
        ...['AI usage', model, 1, amount, amount, taxes.length > 0 ? 'Y' : 'N'],
        ...[taxes.length > 0 ? `${percentOf(taxes)}%` : '', seller.currency],
      ]),
    )
  return Buffer.from(csvOf({ name: '', head: head.split(','), rows }).text)
}

const pairs = (most: number, art: string, inhalt: string) =>
  Array.from({ length: most }, (_, at) => [`${art} ${at + 1}`, `${inhalt} ${at + 1}`]).flat()

/** The fields of a booking, of which we fill the first fourteen. */
const bookingFields = [
  ...'Umsatz (ohne Soll/Haben-Kz);Soll/Haben-Kennzeichen;WKZ Umsatz;Kurs;Basis-Umsatz;WKZ Basis-Umsatz;Konto'.split(
    ';',
  ),
  ...'Gegenkonto (ohne BU-Schlüssel);BU-Schlüssel;Belegdatum;Belegfeld 1;Belegfeld 2;Skonto;Buchungstext'.split(
    ';',
  ),
  ...'Postensperre;Diverse Adressnummer;Geschäftspartnerbank;Sachverhalt;Zinssperre;Beleglink'.split(';'),
  ...pairs(8, 'Beleginfo - Art', 'Beleginfo - Inhalt'),
  ...'KOST1 - Kostenstelle;KOST2 - Kostenstelle;Kost-Menge;EU-Land u. UStID (Bestimmung);EU-Steuersatz (Bestimmung)'.split(
    ';',
  ),
  ...'Abw. Versteuerungsart;Sachverhalt L+L;Funktionsergänzung L+L;BU 49 Hauptfunktionstyp'.split(';'),
  ...'BU 49 Hauptfunktionsnummer;BU 49 Funktionsergänzung'.split(';'),
  ...pairs(20, 'Zusatzinformation - Art', 'Zusatzinformation- Inhalt'),
  ...'Stück;Gewicht;Zahlweise;Forderungsart;Veranlagungsjahr;Zugeordnete Fälligkeit;Skontotyp;Auftragsnummer'.split(
    ';',
  ),
  ...'Buchungstyp;USt-Schlüssel (Anzahlungen);EU-Land (Anzahlungen);Sachverhalt L+L (Anzahlungen)'.split(';'),
  ...'EU-Steuersatz (Anzahlungen);Erlöskonto (Anzahlungen);Herkunft-Kz;Buchungs GUID;KOST-Datum'.split(';'),
  ...'SEPA-Mandatsreferenz;Skontosperre;Gesellschaftername;Beteiligtennummer;Identifikationsnummer'.split(
    ';',
  ),
  ...'Zeichnernummer;Postensperre bis;Bezeichnung SoBil-Sachverhalt;Kennzeichen SoBil-Buchung;Festschreibung'.split(
    ';',
  ),
  ...'Leistungsdatum;Datum Zuord. Steuerperiode;Fälligkeit;Generalumkehr (GU);Steuersatz;Land'.split(';'),
  ...'Abrechnungsreferenz;BVV-Position;EU-Land u. UStID (Ursprung);EU-Steuersatz (Ursprung);Abw. Skontokonto'.split(
    ';',
  ),
]

/** A text of the format, in the letters that it can hold: of others the letter without its marks, or a question mark. */
const datevText = (value: string, most: number): string => {
  const letters = [...value].map((letter) => {
    const [bare = '?'] = letter.normalize('NFD')
    return letter <= '\u00ff' ? letter : bare <= '\u00ff' ? bare : '?'
  })
  return `"${letters
    .join('')
    .replace(/\p{Cc}/gu, ' ')
    .slice(0, most)
    .replaceAll('"', '""')}"`
}

const compact = (at: number) => dayOf(at).replaceAll('-', '')
const dayMonth = (at: number) => `${dayOf(at).slice(8)}${dayOf(at).slice(5, 7)}`

const bookingOf = (bill: Bill, datev: Datev): string => {
  const { document, issuedAt, dueAt } = bill
  const { buyer, total, seller, label } = document
  const filled = [
    total.replace('.', ','),
    isNote(bill) ? '"H"' : '"S"',
    `"${seller.currency}"`,
    ...['', '', '""'],
    buyer.debtor_account ?? datev.debtor_account,
    datev.revenue_account,
    '""',
    dayMonth(issuedAt),
    datevText(bill.number, 36),
    `"${dayMonth(dueAt)}${dayOf(dueAt).slice(2, 4)}"`,
    '',
    datevText(`${label} ${bill.month}`, 60),
  ]
  return [...filled, ...bookingFields.slice(filled.length).map(() => '')].join(';')
}

/**
 * A booking of each bill's total, from the debtor's account to the one of revenue, of one calendar year and one currency.
 * Source: developer.datev.de, "DATEV-Format", header 700 and booking batch (Buchungsstapel) 13.
 */
export const datevCsv = (bills: readonly Bill[], datev: Datev | undefined, now: number): Buffer => {
  if (datev === undefined)
    throw refuse(
      'not_ready',
      "The billing profile has no 'datev': set its consultant, client and accounts first.",
    )
  const days = bills.map(({ issuedAt }) => compact(issuedAt)).sort()
  const [first = compact(now), last = first] = [days[0], days.at(-1)]
  const currencies = [...new Set(bills.map(({ document }) => document.seller.currency))]
  if (first.slice(0, 4) !== last.slice(0, 4))
    throw invalid(
      'month',
      "A DATEV file is of one year: choose a 'month' whose invoices were written in one.",
    )
  if (currencies.length > 1)
    throw invalid('month', `A DATEV file is of one currency; these are ${currencies.join(', ')}.`)
  const length = String(datev.revenue_account).length
  const at = new Date(now).toISOString().replace(/\D/g, '')
  const header = [
    ...[
      '"EXTF"',
      700,
      21,
      '"Buchungsstapel"',
      13,
      at,
      '',
      '"RE"',
      '""',
      '""',
      datev.consultant,
      datev.client,
    ],
    ...[
      `${first.slice(0, 4)}0101`,
      length,
      first,
      last,
      '"Rechnungen"',
      '""',
      1,
      0,
      0,
      `"${currencies[0] ?? 'EUR'}"`,
    ],
    ...['', '""', '', '', '""', '', '', '""', '""'],
  ]
  const rows = [header.join(';'), bookingFields.join(';'), ...bills.map((bill) => bookingOf(bill, datev))]
  return Buffer.from(`${rows.join('\r\n')}\r\n`, 'latin1')
}
