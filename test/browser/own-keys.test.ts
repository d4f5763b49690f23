/** An owner adds the organisation's own key of a vendor, turns it off, lets it fall back and removes it, on a small screen. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { fileURLToPath } from 'node:url'
import { until } from '../until.ts'
import { openBrowser, type TestBrowser } from './open-browser.ts'
import { type ListeningConsole, listenConsole } from './rig.ts'
import { settled } from './settled.ts'

let browser: TestBrowser
let it: ListeningConsole
beforeAll(async () => {
  browser = await openBrowser()
  it = await listenConsole()
})
afterAll(async () => {
  await browser.close()
  await it.stop()
})

const axe = await Bun.file(fileURLToPath(import.meta.resolve('axe-core/axe.min.js'))).text()
const barriers = `axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations.map(({ id }) => id))`
const widthOver = 'document.documentElement.scrollWidth - window.innerWidth'

test('an own key from its first day to its last', async () => {
  const { page, errors } = await browser.newPage({
    viewport: { width: 360, height: 900 },
    reducedMotion: 'reduce',
  })
  it.answerWith(({ headers }) =>
    headers.get('authorization')?.endsWith('-tail') === true
      ? Response.json({ data: [] })
      : Response.json({ error: { message: 'no' } }, { status: 401 }),
  )
  await it.enter(page, 'olga@example.com', 'owner')
  await page.goto(`${it.address}/console/rules`)
  const keys = async () =>
    (await it.store.ownKeys.list('org_test')).map(({ lastFour, enabled }) => [lastFour, enabled])
  const looks = async () => {
    await settled(page)
    await page.evaluate(axe)
    expect([await page.evaluate(barriers), Number(await page.evaluate(widthOver))]).toEqual([[], 0])
  }
  await page.getByRole('button', { name: 'Add own key' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('textbox', { name: 'Vendor' }).fill('mock')
  await dialog.getByRole('textbox', { name: 'Key' }).fill('sk-own-0123456789-tail')
  await looks()
  await dialog.getByRole('button', { name: 'Try and add' }).click()
  await page.getByRole('button', { name: 'Turn off' }).click()
  await page.getByRole('button', { name: 'Turn on' }).waitFor()
  expect(await keys()).toEqual([['tail', false]])
  await looks()
  await page.getByRole('button', { name: 'Whether calls at mock fall back' }).click()
  await dialog.getByRole('button', { name: 'Fall back' }).click()
  await page.getByText("falls back to the house's key").waitFor()
  await page.getByRole('button', { name: 'Remove the own key' }).click()
  await dialog.getByRole('button', { name: 'Remove the key' }).click()
  await until(async () => (await keys()).length === 0)
  await page.getByText('No own keys').waitFor()
  expect(errors).toEqual([])
})
