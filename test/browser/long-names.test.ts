/** Names that are one word of many letters: they break, and no table is wider than its page. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { openBrowser, type TestBrowser } from './open-browser.ts'
import { type ListeningConsole, listenConsole } from './rig.ts'

const LONG = 'Donaudampfschifffahrtsgesellschaft'.repeat(4).slice(0, 100)

let browser: TestBrowser
let it: ListeningConsole
beforeAll(async () => {
  browser = await openBrowser()
  it = await listenConsole()
  const owner = await it.visit(`${'o'.repeat(60)}@${'m'.repeat(50)}.example.com`, 'owner')
  for (const [method, path, body] of [
    ['POST', '/keys', { label: LONG }],
    ['POST', '/sub-wallets', { label: LONG, budget_usd: 5 }],
    ['POST', '/teams', { name: LONG, budget_usd: 5 }],
    ['PUT', '/budgets/user', { value: LONG, monthly_cap_usd: 5 }],
    ['POST', '/alerts', { name: LONG, kind: 'wallet', amount_usd: 5, steps: [80], channels: [] }],
    ['PUT', '/group-rule', { groups: [{ group: LONG, role: 'viewer' }], default_role: null }],
  ] as const) {
    const made = await owner.ask(method, path, body)
    if (!made.ok) throw new Error(`${path}: ${await made.text()}`)
  }
})
afterAll(async () => {
  await browser.close()
  await it.stop()
})

/** The tables that are wider than their box, by how much; passed to the page as a text. */
const wider = `[...document.querySelectorAll('.table-box')].flatMap((box) => {
  const over = box.scrollWidth - box.clientWidth
  return over > 0 ? [(box.querySelector('table')?.getAttribute('aria-label') ?? 'a table') + ' by ' + over] : []
})`

test('a name of one long word makes no table wider than its page', async () => {
  const { page } = await browser.newPage({ viewport: { width: 1280, height: 900 } })
  await it.enter(page, 'owner@example.com', 'owner')
  const found: string[] = []
  for (const [path, table] of [
    ['/activity', 'Activity'],
    ['/rules', 'Sub-wallets'],
    ['/rules', 'Budgets'],
    ['/team', 'Teams'],
    ['/team', 'Groups of the directory'],
    ['/alerts', 'Alerts'],
  ] as const) {
    await page.goto(`${it.address}/console${path}`)
    await page.getByRole('table', { name: table, exact: true }).waitFor()
    found.push(...((await page.evaluate(wider)) as string[]).map((one) => `${path}: ${one}`))
  }
  expect([...new Set(found)]).toEqual([])
})
