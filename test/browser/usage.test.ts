/** Finance with a large month: the month as a file whose sum is the ledger's, and a table of thousands of rows. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { readFile } from 'node:fs/promises'
import { fillLedger, ORG, WALLET } from '../../bench/large-ledger.ts'
import { nanoFromDecimal } from '../../src/core/money.ts'
import { until } from '../until.ts'
import { openBrowser, type TestBrowser } from './open-browser.ts'
import { type ListeningConsole, listenConsole } from './rig.ts'

const DAY = 86_400_000
const KEYS = 4_000

/** The month before this one: no call of it is still to come. */
const now = new Date()
const first = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 1, 1)
const dayText = (at: number): string => new Date(at).toISOString().slice(0, 10)

let browser: TestBrowser
let it: ListeningConsole
beforeAll(async () => {
  browser = await openBrowser()
  it = await listenConsole({ fund: 0n })
  const by = { kind: 'command', id: 'test', name: 'test' } as const
  fillLedger(it.file, { calls: 20_000, keyCount: KEYS, days: 5, until: first + 10 * DAY })
  const { personId } = await it.visit('billing@example.com', 'billing', ORG)
  await it.store.members.put({ orgId: ORG, personId, role: 'billing' }, by)
})
afterAll(async () => {
  await browser.close()
  await it.stop()
})

const open = async () => {
  const opened = await browser.newPage({ viewport: { width: 1280, height: 900 } })
  await opened.page.goto(it.addressOfLink(it.address, await it.link('billing@example.com')))
  await opened.page.getByRole('button', { name: 'Sign in' }).click()
  await opened.page.getByRole('heading', { name: 'Overview' }).waitFor()
  return opened
}

const view = `from=${dayText(first)}&to=${dayText(first + 27 * DAY)}&slot=month`

test('an address with days or months that there are not says so, or shows the usual days', async () => {
  const { page, errors } = await open()
  for (const [address, said] of [
    ['usage?from=2026-11-20&to=2026-11-01', "'from' must not be after 'to'"],
    ['statement?month=2026-13', 'must be a month such as'],
  ] as const) {
    await page.goto(`${it.address}/console/${address}`)
    await page.getByRole('alert').filter({ hasText: said }).waitFor()
  }
  await page.goto(`${it.address}/console/usage?from=foo&to=bar`)
  await page.getByText('Nothing was used').or(page.getByRole('table')).first().waitFor()
  // What the browser itself says of the 400s.
  expect(errors.filter((error) => !error.includes('status of 400'))).toEqual([])
})

test('the CSV of a month is what the ledger says of it, to the nano-dollar', async () => {
  const { page, errors } = await open()
  await page.goto(`${it.address}/console/usage?${view}&by=model`)
  await page.getByRole('table', { name: 'Use by group' }).waitFor()
  const downloading = page.waitForEvent('download')
  await page.getByRole('link', { name: 'Download CSV' }).click()
  const file = await downloading
  expect(file.suggestedFilename()).toBe(`usage-${dayText(first)}.csv`)
  const [head = '', ...lines] = (await readFile(await file.path(), 'utf8')).trim().split('\r\n')
  expect(head).toBe('month,model,requests,input_tokens,output_tokens,cost_usd')
  const sum = (column: number) => lines.map((line) => line.split(',')[column] ?? '')
  const cost = sum(5).reduce((all, text) => all + (nanoFromDecimal(text) ?? -1n), 0n)
  const posted = await it.store.ledger.balance(WALLET)
  // Only top-ups of 20,000 USD a day and calls were posted.
  expect(cost).toBe(5n * 20_000_000_000_000n - posted)
  expect(new Set(sum(0))).toEqual(new Set([dayText(first).slice(0, 7)]))
  // From a model to the keys that used it; the address leads back to that view.
  const model = page.getByRole('table', { name: 'Use by group' }).getByRole('button').first()
  const name = (await model.textContent()) ?? ''
  await model.click()
  await page.getByRole('heading', { name: 'By key' }).waitFor()
  expect(new URL(page.url()).searchParams.get('model')).toBe(name)
  expect(await page.getByLabel('Model', { exact: true }).inputValue()).toBe(name)
  expect(errors).toEqual([])
})

test('of thousands of rows only those near the screen are drawn, down to the last one', async () => {
  const { page, errors } = await open()
  await page.goto(`${it.address}/console/usage?${view}&by=key`)
  const table = page.getByRole('table', { name: 'Use by group' })
  await table.waitFor()
  const rows = async () => Number(await table.getAttribute('aria-rowcount')) - 1
  // At first the most expensive, with the total of all.
  expect(await rows()).toBe(250)
  const total = await table.locator('tfoot').textContent()
  await page.getByRole('button', { name: 'Show all' }).click()
  await until(async () => (await rows()) > 2_000)
  expect(await table.locator('tfoot').textContent()).toBe(total)
  const drawn = () => table.locator('tbody tr:not(.space)').count()
  const keyOf = (at: number) =>
    table.locator('tbody tr:not(.space)').nth(at).locator('td').first().textContent()
  const top = await keyOf(0)
  expect(await drawn()).toBeLessThanOrEqual(250)
  // Scrolls through all of it: never many rows at once, and the last one is reached.
  const seen = new Set<string>()
  for (let share = 1; share <= 8; share++) {
    await page.evaluate(`window.scrollTo(0, document.documentElement.scrollHeight * ${share / 8})`)
    const before = seen.size
    await until(async () => {
      for (const text of await table.locator('tbody tr:not(.space) td:first-child').allTextContents())
        seen.add(text)
      return seen.size > before
    })
    expect(await drawn()).toBeLessThanOrEqual(250)
  }
  expect(seen.size).toBeGreaterThan(800)
  const last = table.locator('tbody tr').last()
  await until(async () => (await last.getAttribute('class')) !== 'space')
  await page.evaluate('window.scrollTo(0, 0)')
  await until(async () => (await keyOf(0)) === top)
  expect(errors).toEqual([])
})
