/** The browser of the tests starts on a machine without one, and reports a page's requests to other hosts. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { openBrowser, type TestBrowser } from './open-browser.ts'

let browser: TestBrowser
beforeAll(async () => {
  browser = await openBrowser()
})
afterAll(() => browser.close())

test('a page is shown, and what it asks of another host is noted and not found', async () => {
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: () =>
      new Response('<h1>Hello</h1><img alt="" src="https://elsewhere.invalid/x.png">', {
        headers: { 'content-type': 'text/html' },
      }),
  })
  try {
    const { page, strangers, errors } = await browser.newPage()
    await page.goto(`http://127.0.0.1:${server.port}/`)
    expect(await page.textContent('h1')).toBe('Hello')
    expect(strangers).toEqual(['https://elsewhere.invalid/x.png'])
    expect(errors).toEqual(['Failed to load resource: net::ERR_NAME_NOT_RESOLVED'])
  } finally {
    await server.stop(true)
  }
})
