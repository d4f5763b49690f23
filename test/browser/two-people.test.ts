/** Two people change one thing at once: neither undoes what the other did, nor loses what was typed. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { PASSWORD } from '../console/rig.ts'
import { jsonOf } from '../server/harness.ts'
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

test('a page of a key that was opened earlier keeps the cap that somebody else has set since', async () => {
  const other = await it.visit('other@example.com', 'admin')
  const { id } = await jsonOf(await other.ask('POST', '/keys', { label: 'shared', monthly_cap_usd: 50 }))
  const { page, errors } = await browser.newPage()
  await it.enter(page, 'owner@example.com', 'owner')
  await page.goto(`${it.address}/console/keys/${id}`)
  await page.getByLabel('Label').fill('renamed')
  await other.ask('PUT', `/keys/${id}`, { monthly_cap_usd: 5, spend_cap_usd: 20 })
  // What nobody touched here follows, and what was typed stays.
  await page.getByRole('textbox', { name: 'Monthly cap in USD' }).and(page.locator('[value="5"]')).waitFor()
  expect(await page.getByLabel('Label').inputValue()).toBe('renamed')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Saved. The new limits apply').waitFor()
  const read = async () => jsonOf(await other.ask('GET', `/keys/${id}`))
  expect(await read()).toMatchObject({ label: 'renamed', monthly_cap_usd: '5', spend_cap_usd: '20' })
  await page.getByRole('textbox', { name: 'Monthly cap in USD' }).fill('')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('no cap').waitFor()
  expect(await read()).toMatchObject({ label: 'renamed', monthly_cap_usd: null, spend_cap_usd: '20' })
  expect(errors).toEqual([])
})

test('saving one rule keeps the others: also those that somebody else has set since, and an empty list', async () => {
  const other = await it.visit('other@example.com', 'admin')
  await other.ask('PUT', '/rules', { allowed_models: [] })
  const { page, errors } = await browser.newPage()
  await it.enter(page, 'owner@example.com', 'owner')
  await page.getByRole('link', { name: 'Rules' }).click()
  await page.getByText('None is allowed now').waitFor()
  await page.getByLabel('Maximum per call, in USD').fill('2')
  await other.ask('PUT', '/rules', { daily_limit_usd: 7 })
  await page.getByRole('button', { name: 'Save rules' }).click()
  await page.getByText('Saved. The rules apply').waitFor()
  expect(await jsonOf(await other.ask('GET', '/rules'))).toMatchObject({
    per_call_max_usd: '2',
    daily_limit_usd: '7',
    allowed_models: [],
  })
  expect(await page.getByLabel('Maximum per day, in USD').inputValue()).toBe('7')
  await page.getByLabel('Only these models').fill('*')
  await page.getByRole('button', { name: 'Save rules' }).click()
  await page.getByText('One per line; * matches').waitFor()
  expect((await jsonOf(await other.ask('GET', '/rules'))).allowed_models).toEqual(['*'])
  expect(errors).toEqual([])
})

test('a person whose role changes sees the pages of the new one at the next step, and whoever is removed sees none', async () => {
  const { page, errors } = await browser.newPage({ viewport: { width: 1280, height: 900 } })
  await it.enter(page, 'lowered@example.com', 'admin')
  const [person] = await it.store.people.find('person', {
    where: [{ column: 'email', is: '=', value: 'lowered@example.com' }],
  })
  const [orgId, personId] = ['org_test', String(person?.id)]
  const by = { kind: 'command', id: 'test', name: 'test' } as const
  const link = (name: string) => page.getByRole('link', { name, exact: true })
  await link('Team').waitFor()
  await it.store.members.put({ orgId, personId, role: 'developer' }, by)
  await link('Models').click()
  await link('Wallet').waitFor({ state: 'detached' })
  await it.store.members.put({ orgId, personId, role: 'admin' }, by)
  await link('Keys').click()
  await link('Wallet').waitFor()
  // Also where what is asked for is refused.
  await it.store.members.put({ orgId, personId, role: 'developer' }, by)
  await link('Wallet').click()
  await link('Wallet').waitFor({ state: 'detached' })
  await it.store.members.remove({ orgId, personId }, by)
  await link('Usage').click()
  await link('Usage').waitFor({ state: 'detached' })
  expect(errors.filter((error) => !error.includes('403'))).toEqual([])
})

test('somebody who signs in where another session ended plays with a key of their own', async () => {
  const next = await it.visit('next@example.com', 'admin')
  const { page } = await browser.newPage()
  await it.enter(page, 'before@example.com', 'owner')
  const keys = new Set<string>()
  page.on('request', (request) => {
    if (new URL(request.url()).pathname.startsWith('/v1/')) keys.add(request.headers().authorization ?? '')
  })
  const play = async () => {
    await page.getByRole('link', { name: 'Playground', exact: true }).click()
    await page.getByLabel('Message').fill('hello')
    const called = page.waitForRequest(
      (request) => new URL(request.url()).pathname === '/v1/chat/completions',
    )
    await page.getByRole('button', { name: 'Send' }).click()
    await called
  }
  await play()
  await it.store.people.remove('person_session', [{ column: 'user_id', is: '<>', value: next.personId }])
  // The page may have noticed by itself, and hidden the link behind the sign-in.
  await page.getByRole('link', { name: 'Calls', includeHidden: true }).dispatchEvent('click')
  await page.getByLabel('E-mail address').fill(next.email)
  await page.getByRole('textbox', { name: 'Password' }).fill(PASSWORD)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByText('next@example.com').first().waitFor()
  await play()
  expect(keys.size).toBe(2)
})
