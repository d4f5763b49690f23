/** A pasted list of tenants: what is read from it, and what is told instead of guessed. */
import { expect, test } from 'bun:test'
import { readTenants } from './tenant-list.ts'

test('labels, references and caps are read, by commas, semicolons or tabs, quoted or not', () => {
  const { tenants, wrong } = readTenants(
    'Label,Reference,Cap\n"Quoted, Inc",Q-1,12.5\nPlain\nTabs\tT-1\t$7\nOne;O-1;1.5;',
  )
  expect(wrong).toEqual([])
  expect(tenants).toEqual([
    { label: 'Quoted, Inc', reference: 'Q-1', limits: { monthly_cap_usd: 12.5 } },
    { label: 'Plain' },
    { label: 'Tabs', reference: 'T-1', limits: { monthly_cap_usd: 7 } },
    { label: 'One', reference: 'O-1', limits: { monthly_cap_usd: 1.5 } },
  ])
})

test('two lines with one reference are both named, and neither is created twice', () => {
  expect(
    readTenants('label,reference\nAcme,A-1\n\nZed,Z-1\nOther;A-1;5\nNone\nNone\nThird,A-1').wrong,
  ).toEqual(["Lines 2 and 5 have the same reference 'A-1'.", "Lines 2 and 8 have the same reference 'A-1'."])
})

test('a file that is not in UTF-8 makes no tenant with a broken name', () => {
  const text = new TextDecoder().decode(Uint8Array.from([0x5a, 0x6f, 0xeb, 0x2c, 0x5a, 0x2d, 0x31]))
  expect(readTenants(text)).toEqual({
    tenants: [],
    wrong: ['Line 1 is not in UTF-8; save the file as “CSV UTF-8”.'],
  })
})

test('an amount with a comma is no cap of its whole dollars, and what is no amount is none', () => {
  const { tenants, wrong } = readTenants('Acme,A-1,1,5\n,B-1,10\nZed,Z-1,abc')
  expect(tenants).toEqual([])
  expect(wrong).toEqual([
    'Line 1 has more than three columns; an amount has a point, such as 1.5.',
    'Line 2 has no label.',
    "Line 3: 'abc' is no amount.",
  ])
})
