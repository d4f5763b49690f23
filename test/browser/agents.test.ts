/** Somebody signs an agent in from the address that it opens, also when they have to sign in first, and signs it out. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { jsonOf } from '../server/harness.ts'
import { until } from '../until.ts'
import { openBrowser, type TestBrowser } from './open-browser.ts'
import { type ListeningConsole, listenConsole } from './rig.ts'

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

const form = (path: string, members: Record<string, string>) =>
  fetch(`${it.address}${path}`, { method: 'POST', body: new URLSearchParams(members) })

const asked = async () =>
  jsonOf((await form('/oauth/device_authorization', { surface: 'claude_code' })) as never)

const tokenFor = async (device_code: string): Promise<string | undefined> => {
  const grant_type = 'urn:ietf:params:oauth:grant-type:device_code'
  return JSON.parse(await (await form('/oauth/token', { grant_type, device_code })).text()).access_token
}

test('an agent is signed in by its code, told its settings, and signed out', async () => {
  const { page, errors } = await browser.newPage()
  await it.enter(page, 'olga@example.com', 'owner')
  const first = await asked()
  await page.goto(first.verification_uri_complete)
  await page.getByText('claude_code', { exact: true }).waitFor()
  expect(await page.getByLabel('Code to compare').textContent()).toBe(first.user_code)
  await page.getByRole('button', { name: 'The code is the same: sign in' }).click()
  await page.getByText('is signed in as you').waitFor()
  const token = await tokenFor(first.device_code)
  expect(token).toStartWith('sk-at-')

  const second = await asked()
  await page.goto(`${it.address}/console/device`)
  await page.getByLabel('Code').fill(second.user_code.toLowerCase().replace('-', ' '))
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByRole('button', { name: 'Deny' }).click()
  await page.getByText('was refused').waitFor()
  expect(await tokenFor(second.device_code)).toBeUndefined()

  await page.getByRole('button', { name: 'Your agents' }).click()
  const rows = page.getByRole('table', { name: 'Signed-in agents' }).locator('tbody tr')
  await rows.getByText('olga@example.com').waitFor()
  await page.getByLabel('Settings of agents').fill('{"env": {"A": "1"}}')
  await page.getByRole('button', { name: 'Save' }).click()
  const settings = async () =>
    (await fetch(`${it.address}/managed/settings`, { headers: { authorization: `Bearer ${token}` } })).status
  await until(async () => (await settings()) === 200)
  await rows.getByRole('button', { name: 'Sign out' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Sign out' }).click()
  await page.getByText('No agent is signed in').waitFor()
  expect(await settings()).toBe(401)
  expect(errors).toEqual([])
})

test('who is not signed in comes back to the code', async () => {
  const { page } = await browser.newPage()
  const { verification_uri_complete: address } = await asked()
  await page.goto(address)
  await page.getByLabel('E-mail address').waitFor()
  expect(new URL(page.url()).searchParams.get('to')).toContain('/device?user_code=')
})
