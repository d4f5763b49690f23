/**
 * Every control of every page of the console is turned; both are found, not listed. None leads to a page that broke, an error
 * of a script, or text that lies over other text or is cut off. `npm run controls` turns all of them at all widths; here a
 * sample is turned at one of them.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { CDPSession, Page } from 'playwright-core'
import { seed } from '../seed.ts'
import { type Control, controlsOf, linksOf, turn } from './controls.ts'
import { wrongText } from './drawn-text.ts'
import { openBrowser, type TestBrowser } from './open-browser.ts'
import { type ListeningConsole, listenConsole } from './rig.ts'
import { seedConsole } from './seeded.ts'
import { quieting } from './settled.ts'

const isWhole = process.env.CONTROLS === 'all'
/** Of so many controls one is turned. */
const ONE_OF = isWhole ? 1 : 9
const WIDTHS = [360, 390, 768, 1440]

let browser: TestBrowser
let it: ListeningConsole
beforeAll(async () => {
  browser = await openBrowser()
  it = await listenConsole({ fund: 0n })
  await seedConsole(it)
})
afterAll(async () => {
  await browser.close()
  await it.stop()
})

type Walk = {
  readonly page: Page
  readonly session: CDPSession
  readonly errors: readonly string[]
  readonly quiet: () => Promise<void>
  readonly wrong: string[]
}

/** Where a day has just begun: times that are not of today are the longest. */
const atMidnight = (): string => {
  const hour = new Date().getUTCHours()
  return hour <= 12 ? `Etc/GMT+${hour}` : `Etc/GMT-${24 - hour}`
}

const open = async (width: number): Promise<Walk> => {
  const { page, context, errors } = await browser.newPage({
    viewport: { width, height: 900 },
    reducedMotion: 'reduce',
    locale: 'en-US',
    timezoneId: atMidnight(),
  })
  await it.enter(page, 'ada@example.com', 'owner', true)
  return { page, session: await context.newCDPSession(page), errors, quiet: quieting(page), wrong: [] }
}

/** What the browser says of an answer of the server that refuses; a refusal is shown on the page. */
const isRefusal = (error: string): boolean => /status of 4\d\d/.test(error)

const look = async ({ page, errors, quiet, wrong }: Walk, where: string): Promise<void> => {
  await quiet()
  const text = (await page.evaluate('document.body.innerText')) as string
  const broken = text.includes('Something went wrong') ? ['something went wrong'] : []
  const said = (errors as string[]).splice(0).filter((error) => !isRefusal(error))
  wrong.push(...[...broken, ...said, ...(await wrongText(page))].map((what) => `${where}: ${what}`))
}

const PREFIX = '/console'
/** Pages of one form are one: those of each key, of each view of calls. */
const formOf = (path: string): string =>
  path.replace(/\?.*|#.*/, '').replaceAll(/\/(?:key|mac|org|wal|sub)_[\w-]+/g, '/:id')

/** Every page that a link of another page leads to, one of each form. */
const pagesOf = async ({ page, quiet }: Walk): Promise<readonly string[]> => {
  const found = new Map<string, string>([['', '']])
  for (const path of found.values()) {
    await page.goto(`${it.address}${PREFIX}${path}`)
    await quiet()
    for (const link of await linksOf(page)) {
      const { origin, pathname, search } = new URL(link)
      if (origin !== it.address || !pathname.startsWith(PREFIX) || pathname.startsWith(`${PREFIX}/api`))
        continue
      const to = `${pathname.slice(PREFIX.length).replace(/^\/$/, '')}`
      if (!found.has(formOf(to))) found.set(formOf(to), `${to}${search}`)
    }
  }
  return [...found.values()]
}

/** These end the session, or what the walk needs. */
const isLast = ({ name }: Control): boolean => /^sign out/i.test(name)

/** Turns one control of a page that has just been opened; then those that it has brought, which change nothing by themselves. */
const turnOne = async (walk: Walk, path: string, control: Control): Promise<boolean> => {
  const { page, session, quiet } = walk
  await page.goto(`${it.address}${PREFIX}${path}`)
  await quiet()
  const same = (one: Control) =>
    one.role === control.role && one.name === control.name && one.nth === control.nth
  const before = await controlsOf(session)
  const there = before.find(same)
  // What shows the state of a thing is called otherwise once that has changed.
  if (there === undefined) return false
  const name = `${path || '/'} ${control.role} "${control.name}"`
  await turn(page, session, there, (step) => look(walk, `${name}, ${step}`))
  const isHere = formOf(new URL(page.url()).pathname) === formOf(`${PREFIX}${path.replace(/\?.*/, '')}`)
  if (!isWhole || there.role !== 'button' || !isHere) return true
  const known = new Set(before.map(({ node }) => node))
  for (const brought of await controlsOf(session)) {
    if (known.has(brought.node) || brought.role === 'button' || brought.role === 'menuitem') continue
    await turn(page, session, brought, (step) =>
      look(walk, `${name} > ${brought.role} "${brought.name}", ${step}`),
    )
  }
  return true
}

test('text over text and a cut label are caught, and what is whole or has its full text as a title is not', async () => {
  const { page } = await browser.newPage({ viewport: { width: 400, height: 300 } })
  const found = async (body: string) => {
    await page.setContent(`<h1>Page</h1>${body}`)
    return wrongText(page)
  }
  const narrow = 'width: 60px; overflow: hidden; white-space: nowrap'
  expect(await found('<p>one</p><p>two</p>')).toEqual([])
  expect(await found('<p>first</p><p style="margin-top: -34px">second</p>')).toEqual([
    'over each other: first | second',
  ])
  expect(await found(`<button style="${narrow}">Download everything</button>`)).toEqual([
    'cut: Download everything',
  ])
  const whole = 'title="Download everything"'
  expect(
    await found(`<p ${whole} style="${narrow}; text-overflow: ellipsis">Download everything</p>`),
  ).toEqual([])
  // What scrolls can be read.
  expect(await found(`<div style="${narrow}; overflow-x: auto">Download everything</div>`)).toEqual([])
})

test('every page is found by its links, and none has text over text or cut off, at any width', async () => {
  const finder = await open(1440)
  const pages = await pagesOf(finder)
  // If the links were not found, nothing below would be turned.
  expect(pages.length).toBeGreaterThan(18)
  const wrong: string[] = []
  for (const width of WIDTHS) {
    const walk = await open(width)
    for (const path of pages) {
      await walk.page.goto(`${it.address}${PREFIX}${path}`)
      await look(walk, `${path || '/'} at ${width} px`)
    }
    wrong.push(...walk.wrong)
    await walk.page.context().close()
  }
  expect(wrong).toEqual([])
})

/** Each test walks a part of the pages, so that none takes longer than a test may. */
const PARTS = isWhole ? 14 : 1

for (const width of isWhole ? WIDTHS : [WIDTHS[seed % WIDTHS.length] ?? 1440])
  for (let part = 0; part < PARTS; part++)
    test(`whatever is turned at ${width} px, no page breaks: part ${part + 1} of ${PARTS}`, async () => {
      const walk = await open(width)
      let turned = 0
      const pages = await pagesOf(walk)
      for (const path of pages.filter((_, at) => at % PARTS === part)) {
        await walk.page.goto(`${it.address}${PREFIX}${path}`)
        await walk.quiet()
        const controls = (await controlsOf(walk.session)).filter((one) => !isLast(one))
        for (const [at, control] of controls.entries()) {
          if ((at + seed) % ONE_OF !== 0) continue
          if (await turnOne(walk, path, control)) turned++
        }
      }
      await walk.page.context().close()
      expect(turned).toBeGreaterThan(isWhole ? 1 : 20)
      expect(walk.wrong).toEqual([])
    })
