/** Files for accounting: what a credit note says is the opposite of its invoice, line by line. */
import { expect, test } from 'bun:test'
import type { Bill } from '../../store/tenants/bill-port.ts'
import { plainCsv } from './accounting.ts'

const party = { name: 'P', address: 'A' }
const line = { requests: 1, input_tokens: 0, output_tokens: 0 }
const invoice: Bill = {
  id: 'bill_1',
  orgId: 'o',
  tenantId: 't',
  serial: 1,
  number: 'GS-0001',
  kind: 'invoice',
  month: '2026-10',
  issuedAt: 0,
  dueAt: 0,
  document: {
    seller: { ...party, currency: 'EUR', usd_rate: '1', terms_days: 14, taxes: [], prefix: 'GS-' },
    buyer: party,
    label: 'T',
    reference: null,
    // Of one model more was given back in the month than used.
    lines: [
      { ...line, model: 'used', amount: '12.30' },
      { ...line, model: 'given/back', amount: '-2.30' },
    ],
    net: '10.00',
    taxes: [],
    total: '10.00',
  },
}

test('a line of an invoice that is below zero is above zero in its credit note', () => {
  const note: Bill = { ...invoice, id: 'bill_2', serial: 2, number: 'GS-0002', kind: 'credit_note' }
  const rows = plainCsv([invoice, note]).toString().trimEnd().split('\r\n').slice(1)
  expect(rows.map((row) => row.split(',').at(-2))).toEqual(['12.30', '-2.30', '-12.30', '2.30'])
})
