/** What a newcomer does first: starts the server, opens its link, makes a key, runs the shown program, and sees the call. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { startProgram } from '../program.ts'
import { openBrowser, type TestBrowser } from './open-browser.ts'
import { signInByLink } from './sign-in-by-link.ts'

let browser: TestBrowser
let home: string
beforeAll(async () => {
  browser = await openBrowser()
  home = await mkdtemp(join(tmpdir(), 'turnpike-first-'))
})
afterAll(async () => {
  await browser.close()
  await rm(home, { recursive: true, force: true })
})

/** Runs a program as its reader would, with the official clients of this repository. */
const runSnippet = async (text: string): Promise<string> => {
  const child = Bun.spawn([process.execPath, '-e', text], {
    cwd: resolve(import.meta.dir, '../..'),
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [out, errors] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ])
  if ((await child.exited) !== 0) throw new Error(errors)
  return out.trim()
}

test('first start, link, key, the shown program, and its call on the page with the same cost', async () => {
  const server = await startProgram(home, { LOG: 'off', TRIAL_USD: '0' })
  try {
    const link = server.link
    const { page, strangers, errors } = await browser.newPage({ viewport: { width: 1280, height: 900 } })
    await signInByLink(page, link)
    // The address that the sign-in leads to stays good when the page is loaded again, and so does one that was typed.
    for (const address of [page.url(), `${new URL(link).origin}/console/`]) {
      await page.goto('about:blank')
      expect((await page.goto(address))?.status()).toBe(200)
      await page.getByRole('heading', { name: 'Overview' }).waitFor()
    }
    // By keyboard alone from here to the key.
    await page.getByRole('button', { name: 'Create a key' }).focus()
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').getByLabel('Label').waitFor()
    await page.keyboard.type('first agent')
    await page.keyboard.press('Tab')
    await page.keyboard.type('5')
    await page.keyboard.press('Enter')
    await page.getByText('Copy the key now').waitFor()
    await page.getByRole('tab', { name: 'TypeScript' }).click()
    const program = (await page.getByLabel('program for TypeScript', { exact: true }).textContent()) ?? ''
    const said = await runSnippet(program)
    const cost = said.split(' ').at(-1) ?? ''
    expect(Number(cost)).toBeGreaterThan(0)
    await page.getByRole('button', { name: 'I have copied it' }).click()
    await page.getByRole('link', { name: 'Calls' }).click()
    // The page before it has a row of that name, too.
    await page.getByRole('heading', { name: 'Calls', level: 1 }).waitFor()
    const row = page.getByRole('row').filter({ hasText: 'first agent' })
    await row.waitFor()
    expect(await row.locator('.number[title$=USD]').getAttribute('title')).toBe(`${cost} USD`)
    expect(await row.textContent()).toContain('local/echo-1')
    // The link worked once.
    const other = await browser.newPage()
    await other.page.goto(link)
    await other.page.getByRole('button', { name: 'Sign in' }).click()
    await other.page.getByRole('alert').waitFor()
    expect([strangers, errors]).toEqual([[], []])
  } finally {
    server.child.kill('SIGTERM')
    await server.child.exited
  }
})
