/** When a page is at rest: what it was asked for is there, and nothing moves. */
import type { Page } from 'playwright-core'
import { until } from '../until.ts'

/** Run in the page, as texts: the tests' own code knows no document. */
const isSettled = `document.querySelector('[aria-busy=true]') === null && document.querySelector('h1') !== null
  && document.getAnimations().every(({ playState }) => playState !== 'running')`

/** A frame that was drawn, and one after it: whatever a click began has begun. */
const drawn = 'new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))'

export const settled = (page: Page): Promise<void> =>
  until(async () => (await page.evaluate(isSettled)) === true)

/** The same, once the requests to the console's API that the page has begun are answered. Call it once for a page. */
export const quieting = (page: Page): (() => Promise<void>) => {
  const open = new Set<unknown>()
  page.on('request', (request) => {
    if (request.url().includes('/console/api/')) open.add(request)
  })
  page.on('requestfinished', (request) => open.delete(request))
  page.on('requestfailed', (request) => open.delete(request))
  const quiet = async (): Promise<void> => {
    await page.evaluate(drawn)
    await until(() => open.size === 0, 10)
    await page.evaluate(drawn)
    await settled(page)
  }
  return async () => {
    for (;;)
      try {
        return await quiet()
      } catch (error) {
        // A click may have led to another document: then that one is waited for.
        if (!String(error).includes('context was destroyed')) throw error
        await page.waitForLoadState()
      }
  }
}
