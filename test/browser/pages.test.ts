/**
 * Every page as people see it, from the same month of use: in light and dark, small and large, without a barrier that axe
 * finds, without a request elsewhere or a broken policy. WRITE_PICTURES=yes writes all of them to docs/pictures.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdir, readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'
import { Secret } from '../../src/core/secret.ts'
import { settings as allSettings } from '../../src/settings/index.ts'
import { shownSettings } from '../../src/settings/shown.ts'
import { begunBatch } from '../console/begun-batch.ts'
import { type FakeStripe, startFakeStripe } from '../server/stripe-fake.ts'
import { until } from '../until.ts'
import { openBrowser, type TestBrowser } from './open-browser.ts'
import { type ListeningConsole, listenConsole } from './rig.ts'
import { seedConsole } from './seeded.ts'
import { settled } from './settled.ts'

let browser: TestBrowser
let it: ListeningConsole
let stripe: FakeStripe
let axe: string
beforeAll(async () => {
  stripe = startFakeStripe()
  axe = await readFile(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8')
  browser = await openBrowser()
  // Mail that goes nowhere, so that there is a sign-up: this test sends none.
  const settings = { signUp: 'open', smtp: new Secret('smtp://127.0.0.1:9') } as const
  const shown = {
    settings: shownSettings(allSettings, {}),
    markup: '1',
    discount: '1',
    overridden: [],
    off: [],
  }
  it = await listenConsole({ fund: 0n, stripe: stripe.settings, settings, shown })
  const { tenant, link } = await seedConsole(it)
  await begunBatch(it.store, { keyId: tenant, wallet: it.wallet, lines: 3 })
  Object.assign(pages, { tenant: `/tenants/${tenant}`, key: `/keys/${tenant}`, use: link })
})
afterAll(async () => {
  await browser.close()
  await it.stop()
  await stripe.stop()
})

const pages: Record<string, string> = {
  overview: '',
  keys: '/keys',
  'new-key': '/keys?new=key',
  calls: '/calls',
  latency: '/latency',
  batches: '/batches',
  usage: '/usage',
  tenants: '/tenants',
  'new-tenants': '/tenants?new=tenants',
  prices: '/tenants?new=price',
  statement: '/statement',
  bills: '/bills',
  biller: '/bills?open=biller',
  'close-month': '/bills?open=close',
  wallet: '/wallet',
  rules: '/rules',
  alerts: '/alerts',
  playground: '/playground',
  models: '/models',
  team: '/team',
  agents: '/agents',
  device: '/device',
  activity: '/activity',
  settings: '/settings',
  operator: '/operator',
  vendors: '/vendors',
  payers: '/payers',
  sold: '/prices',
  system: '/system',
  setup: '/setup',
  'not-found': '/nothing-is-here',
  'sign-in': '/sign-in',
  'sign-up': '/sign-up',
  link: '/link#nothing',
}
const pictures = fileURLToPath(new URL('../../docs/pictures', import.meta.url))

/** Run in the page, as texts: the tests' own code knows no document. */
const shownScheme = `document.documentElement.getAttribute('data-mantine-color-scheme')`
const widthOver = 'document.documentElement.scrollWidth - window.innerWidth'
const axeRun = `axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations.map(({ id, nodes }) =>
  id + ': ' + nodes[0].html.slice(0, 200) + ' ' + nodes[0].failureSummary.slice(0, 200)))`

/**
 * What axe finds and finds again, as one line each: a button that becomes usable while it is looked at is on its way to
 * another colour.
 */
const violations = async (page: Page): Promise<readonly string[]> => {
  await page.evaluate(axe)
  const found = (await page.evaluate(axeRun)) as readonly string[]
  if (found.length === 0) return found
  await settled(page)
  return (await page.evaluate(axeRun)) as readonly string[]
}

test('the books of the seeded month balance', async () => {
  expect((await it.store.ledger.audit()).filter(({ ok }) => !ok)).toEqual([])
})

const takePicture = async (page: Page, name: string): Promise<void> => {
  await mkdir(pictures, { recursive: true })
  await page.screenshot({ path: `${pictures}/${name}.png` })
}

// Each page is loaded once in each width, in one scheme, and switched to the other while it is shown.
const writesPictures = process.env.WRITE_PICTURES === 'yes'
for (const [width, schemes] of [
  [1440, ['light', 'dark']],
  // People's telephones for pictures, the narrowest for tests.
  [writesPictures ? 390 : 360, ['dark', 'light']],
] as const)
  test(`at ${width} px no page has a barrier, asks another host, breaks the policy or is wider than the screen`, async () => {
    const { page, errors, strangers } = await browser.newPage({
      viewport: { width, height: 900 },
      colorScheme: schemes[0],
      reducedMotion: 'reduce',
      locale: 'en-US',
      timezoneId: 'UTC',
    })
    await it.enter(page, 'ada@example.com', 'owner', true)
    const wrong: string[] = []
    for (const [name, path] of Object.entries(pages)) {
      await page.emulateMedia({ colorScheme: schemes[0] })
      await page.goto(`${it.address}/console${path}`)
      for (const scheme of schemes) {
        await page.emulateMedia({ colorScheme: scheme })
        await until(async () => (await page.evaluate(shownScheme)) === scheme)
        await settled(page)
        if (writesPictures) await takePicture(page, `${name}-${scheme}${width === 1440 ? '' : '-390'}`)
        wrong.push(...(await violations(page)).map((what) => `${name}, ${scheme}: ${what}`))
        const over = Number(await page.evaluate(widthOver))
        if (over > 0) wrong.push(`${name} is ${over} px wider than the screen`)
      }
    }
    expect(wrong).toEqual([])
    // The sign-in page asks who is signed in; its 401 is no error. Nor is anything else.
    expect([errors, strangers]).toEqual([[], []])
  })

test('the first load has at most 200 KB of script and style, as sent', async () => {
  const { page } = await browser.newPage()
  let bytes = 0
  page.on('response', (response) => {
    if (response.url().includes('/console/files/')) bytes += Number(response.headers()['content-length'] ?? 0)
  })
  await it.enter(page, 'ada@example.com', 'owner', true)
  expect(bytes).toBeGreaterThan(50_000)
  expect(bytes).toBeLessThanOrEqual(200_000)
})
