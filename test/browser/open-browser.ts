/** A real browser for tests: the Chromium of the machine or of an npm package, headless, without any address but loopback. */
import { existsSync } from 'node:fs'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { PATIENCE_MS } from '../now.ts'

/** Only loopback is ever resolved, so a page that asks for another host is seen to fail. */
const flags = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-background-networking',
  '--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1, EXCLUDE localhost, EXCLUDE *.localhost',
]

const ATTEMPTS = 10
const AGAIN_MS = 1_000

/** The program: `CHROMIUM` names it, else Debian's, else the one inside the npm package, unpacked to the temporary folder once. */
const programOf = async (): Promise<string> => {
  const named = process.env.CHROMIUM
  if (named !== undefined && named !== '') return named
  if (existsSync('/usr/bin/chromium')) return '/usr/bin/chromium'
  const { default: packed } = await import('@sparticuz/chromium')
  return packed.executablePath()
}

export type TestBrowser = {
  readonly browser: Browser
  /**
   * A page in a context of its own, without another one's cookies. `strangers` has its requests to other hosts than
   * loopback.
   */
  newPage(options?: Parameters<Browser['newContext']>[0]): Promise<TestPage>
  close(): Promise<void>
}

export type TestPage = {
  readonly page: Page
  readonly context: BrowserContext
  /** Addresses that are not on loopback. */
  readonly strangers: readonly string[]
  /** Errors of scripts, and error messages of the console: a broken content policy is one. */
  readonly errors: readonly string[]
}

const isOwn = (address: string): boolean =>
  /^(?:data|blob|about):/.test(address) || /^https?:\/\/(?:127\.0\.0\.1|localhost)[:/]/.test(address)

/** Another process may be unpacking the program at the same moment; then it is incomplete, and we try again. */
const launched = async (): Promise<Browser> => {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await chromium.launch({ executablePath: await programOf(), args: flags })
    } catch (error) {
      if (attempt === ATTEMPTS) throw error
      await Bun.sleep(AGAIN_MS)
    }
  }
}

/** Starts the browser; whoever opens it closes it. */
export const openBrowser = async (): Promise<TestBrowser> => {
  const browser = await launched()
  return {
    browser,
    newPage: async (options = {}) => {
      const context = await browser.newContext(options)
      const page = await context.newPage()
      // A busy machine uses up the default of thirty seconds. Sooner than the test ends, so that it says what was awaited.
      page.setDefaultTimeout(PATIENCE_MS / 2)
      const strangers: string[] = []
      const errors: string[] = []
      page.on('request', (request) => {
        if (!isOwn(request.url())) strangers.push(request.url())
      })
      page.on('pageerror', (error) => errors.push(String(error)))
      page.on('console', (message) => {
        // A busy machine answers so; the page asks again, and shows nothing if that does not help.
        const isBusy = message.text().includes('status of 503')
        if (message.type() === 'error' && !isBusy) errors.push(message.text())
      })
      return { page, context, strangers, errors }
    },
    close: () => browser.close(),
  }
}
