/** The playground on a fresh server: a chat, a picture, a job, a text, each with the cost that the ledger has. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startProgram } from '../program.ts'
import { openBrowser, type TestBrowser } from './open-browser.ts'
import { signInByLink } from './sign-in-by-link.ts'

let browser: TestBrowser
let home: string
let server: Awaited<ReturnType<typeof startProgram>>
beforeAll(async () => {
  browser = await openBrowser()
  home = await mkdtemp(join(tmpdir(), 'turnpike-play-'))
  server = await startProgram(home, { LOG: 'off' })
})
afterAll(async () => {
  server.child.kill('SIGTERM')
  await server.child.exited
  await browser.close()
  await rm(home, { recursive: true, force: true })
})

test('any model is run by a form of its inputs, and shows result, cost and receipt', async () => {
  const link = server.link
  const { page, strangers, errors } = await browser.newPage({ viewport: { width: 1280, height: 1000 } })
  await signInByLink(page, link)
  await page.getByRole('link', { name: 'Playground' }).click()
  await page.getByLabel('Message').fill('Say it again')
  await page.keyboard.press('Enter')
  await page.getByText(/\$0\.0.* request/).waitFor()
  const choose = (model: string) => page.getByLabel('Model', { exact: true }).selectOption(model)
  const run = () => page.getByRole('button', { name: 'Run', exact: true }).click()
  const cost = () => page.getByText(/\$0\.0.* request/).waitFor()

  await choose('local/qr-1')
  // The page shows the server's own message about what is missing.
  await run()
  await page.getByRole('alert').filter({ hasText: 'inputs.text' }).waitFor()
  await page.getByLabel('text', { exact: false }).first().fill('https://example.com/')
  await run()
  await page.getByRole('img', { name: 'What local/qr-1 made' }).waitFor()
  const width = await page.evaluate(
    `document.querySelector('img.result').decode().then(() => document.querySelector('img.result').naturalWidth)`,
  )
  expect(Number(width)).toBeGreaterThan(20)
  await cost()
  await page.getByRole('button', { name: 'Receipt' }).click()
  await page.getByRole('table', { name: 'What the receipt states' }).waitFor()
  await page.getByRole('button', { name: 'Close' }).click()

  await choose('local/slow-1')
  await page.getByLabel('prompt').fill('a lighthouse at dawn')
  await run()
  await page.getByRole('button', { name: 'Cancel the job' }).waitFor()
  await page.getByRole('img', { name: 'What local/slow-1 made' }).waitFor()
  await cost()

  await choose('local/media-info-1')
  const file = page.getByLabel('File for url')
  await file.setInputFiles({ name: 'empty.wav', mimeType: 'audio/wav', buffer: Buffer.alloc(0) })
  await page.getByRole('alert').filter({ hasText: "'file' is empty" }).waitFor()
  // It was forgotten, so that it can be chosen again.
  expect(await file.inputValue()).toBe('')

  await choose('local/page-text-1')
  await page.getByLabel('html').fill('<title>Tides</title><p>The sea rises twice a day.')
  await run()
  await page.getByText('The sea rises twice a day.').last().waitFor()
  await cost()
  expect([errors.filter((error) => !/status of (400|404)/.test(error)), strangers]).toEqual([[], []])
})
