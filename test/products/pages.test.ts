/** Pages: valid, accessible, small, with nothing from elsewhere; text of vendors and operators comes out as text. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import axe from 'axe-core'
import { HtmlValidate } from 'html-validate'
import type { Product } from '../../src/core/model.ts'
import { routes } from '../../src/http/routes.ts'
import { recipes } from '../../src/products/recipes/index.ts'
import { openBrowser, type TestBrowser } from '../browser/open-browser.ts'
import { startConsole } from '../console/rig.ts'
import { oneOf } from '../sample.ts'
import { jsonOf, testModel } from '../server/harness.ts'
import { openShop, type Shop } from './shop.ts'

const HOSTILE = `</script><img src=x onerror=alert(1)>"'&amp;</title>`

const hostile = testModel('hostile', {
  kind: 'media',
  product: {
    category: 'utility',
    title: HOSTILE,
    description: HOSTILE,
    inputs: ['text'],
    media: [],
    schema: () => ({
      type: 'object',
      properties: { [HOSTILE]: { type: 'string', enum: [HOSTILE], default: HOSTILE, description: HOSTILE } },
    }),
    example: { text: HOSTILE },
    rows: [
      {
        when: { [HOSTILE]: HOSTILE },
        price: { rates: { call: 1_000_000 }, tiers: [], version: HOSTILE },
      },
    ],
    flow: 'once',
    price: () => ({
      inputs: {},
      price: { rates: { call: 1_000_000 }, tiers: [], version: HOSTILE },
      most: { call: 1 },
    }),
  } satisfies Product,
})

let shop: Shop
let browser: TestBrowser
let listening: ReturnType<typeof Bun.serve>
beforeAll(async () => {
  shop = await openShop({ models: [hostile] })
  browser = await openBrowser()
  listening = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: (request) => shop.fetch(request) })
})
afterAll(async () => {
  await browser.close()
  await listening.stop(true)
  await shop.stop()
})

const get = (path: string, accept = 'text/html') =>
  shop.fetch(new Request(`http://turnpike.test${path}`, { headers: { accept } }))

const endpoints = [
  ...new Set(
    routes.map(({ method, path }) => {
      const shown = path
        .replace(/[:*](\w+)/g, '{$1}')
        .split('/')
        .map(encodeURIComponent)
        .join('/')
      return `/reference/${method.toLowerCase()}${shown}`
    }),
  ),
]

const fixed = [
  '/',
  '/products',
  '/products?category=image&q=a%22%3E%3Cb%3E',
  '/products?page=2&vendor=openai',
  '/funding',
  '/quickstart',
  '/reference',
  '/reference/errors',
  '/search?q=image%20%22%3E%3Cb%3E',
  '/search?q=key',
  '/products/mock/hostile',
  '/products/local/echo-1',
  '/products/local/hash-embed-1',
  '/products/local/ocr-1',
  '/products/replicate/black-forest-labs/flux-schnell',
  '/products/openai/gpt-image-2',
  '/products/anthropic/claude-sonnet-4-6',
]
const all = [...fixed, ...recipes.map(({ name }) => `/quickstart/${name}`), ...endpoints]

const validator = new HtmlValidate({
  extends: ['html-validate:recommended'],
  rules: { 'long-title': 'off' },
})

/** What a page weighs at most, and what each of its links adds: the reference names every address, each on a page of its own. */
const PAGE_MOST = 40_000
const LINK_MOST = 250

/** The pages of endpoints have one form. */
const drawnPages = all.filter((path) => !endpoints.includes(path)).concat(oneOf(4, endpoints))

test.each(drawnPages.map((path) => [path]))('%s is valid, small, and loads nothing', async (path) => {
  const response = await get(path)
  const text = await response.text()
  expect([response.status, response.status === 200 ? '' : text]).toEqual([200, ''])
  expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8')
  const report = await validator.validateString(text)
  expect(
    report.results.flatMap(({ messages }) => messages.map(({ message, line }) => `${line}: ${message}`)),
  ).toEqual([])
  expect(Buffer.byteLength(text)).toBeLessThan(PAGE_MOST + LINK_MOST * text.split('<a ').length)
  expect(text.replaceAll(/"[^"]*"/g, '')).not.toMatch(/<script|<img|<iframe|<[^>]*(?:javascript:|\son\w+=)/i)
})

test('each link of a page to this server leads somewhere', async () => {
  const seen = new Map<string, number>()
  for (const path of all) {
    const text = await (await get(path)).text()
    for (const [, link = ''] of text.matchAll(/href="([^"]+)"/g)) {
      const url = new URL(link.replaceAll('&amp;', '&'), 'http://turnpike.test/')
      // What a browser keeps for itself.
      url.hash = ''
      if (url.origin !== 'http://turnpike.test' || seen.has(url.href)) continue
      seen.set(url.href, (await shop.fetch(new Request(url.href))).status)
    }
  }
  expect([...seen].filter(([, status]) => status !== 200)).toEqual([])
  expect(seen.size).toBeGreaterThan(100)
})

test('a search finds products, quickstarts, endpoints and errors, and says where there is nothing', async () => {
  const linksOf = async (q: string): Promise<readonly string[]> => {
    const text = await (await get(`/search?q=${encodeURIComponent(q)}`)).text()
    const [, main = ''] = text.split('<main>')
    return [...main.matchAll(/href="([^"]+)"/g)].map(([, link = '']) => link)
  }
  expect(await linksOf('echo')).toContain('/products/local/echo-1')
  expect(await linksOf('LangChain')).toContain('/quickstart/langchain')
  expect(await linksOf('chat completions')).toContain('/reference/post/v1/chat/completions')
  expect(await linksOf('insufficient_balance')).toContain('/reference/errors#insufficient_balance')
  expect(await linksOf('')).toEqual([])
  expect(await (await get('/search?q=zzzz')).text()).toContain('Nothing has these words.')
  expect((await get('/search?words=a')).status).toBe(400)
})

test('where there is a console, pages lead to it, and where there is none, they do not', async () => {
  expect(await (await get('/')).text()).not.toContain('href="/console"')
  const it = await startConsole({ models: [hostile, testModel('small')] })
  const textOf = async (path: string) =>
    (await it.fetch(new Request(`http://turnpike.test${path}`, { headers: { accept: 'text/html' } }))).text()
  expect(await textOf('/reference')).toContain('<a href="/console">Console</a>')
  expect(await textOf('/products/mock/small')).toContain('href="/console/playground?model=mock%2Fsmall"')
  await it.stop()
})

test('who asks for no page is told in text what this is', async () => {
  const response = await get('/', '*/*')
  expect(response.headers.get('content-type')).toBe('text/plain; charset=utf-8')
  expect(await response.text()).toContain('http://turnpike.test/reference  the API reference')
})

test('what a title says comes out as text everywhere', async () => {
  for (const path of [
    '/products/mock/hostile',
    '/products?vendor=mock',
    '/products/mock/hostile.json',
    '/llms.txt',
    '/sitemap.xml',
  ]) {
    const response = await get(path)
    const text = await response.text()
    expect([path, response.status]).toEqual([path, 200])
    if (path.endsWith('.json')) expect(JSON.parse(text).name).toBe(HOSTILE)
    else expect([path, text.includes('<img')]).toEqual([path, false])
  }
})

describe('in a browser', () => {
  test.each(fixed.map((path) => [path]))(
    '%s has no violation, asks nobody else, and fits a phone',
    async (path) => {
      const { page, strangers, errors, context } = await browser.newPage({
        bypassCSP: true,
        viewport: { width: 360, height: 740 },
      })
      await page.goto(`http://127.0.0.1:${listening.port}${path}`)
      await page.addScriptTag({ content: axe.source })
      // As texts, because they run in the browser, not here.
      const found = await page.evaluate(
        `axe.run().then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html).join(' ').slice(0, 300)))`,
      )
      const wide = await page.evaluate('document.documentElement.scrollWidth > window.innerWidth')
      const broken = await page.evaluate(
        `[...document.querySelectorAll('td code')].filter((one) => one.textContent.length < 40 && one.getClientRects().length > 3).map((one) => one.textContent)`,
      )
      const asList = await page.evaluate(
        `[...document.querySelectorAll('.list')].every((one) => one.scrollWidth <= one.parentElement.clientWidth)`,
      )
      await context.close()
      expect([found, strangers, errors, wide]).toEqual([[], [], [], false])
      expect([broken, asList]).toEqual([[], true])
    },
  )

  test('its own policy lets its style stand', async () => {
    const { page, errors, context } = await browser.newPage()
    await page.goto(`http://127.0.0.1:${listening.port}/products`)
    const width = await page.evaluate('getComputedStyle(document.querySelector("main")).maxWidth')
    await context.close()
    expect([width, errors]).toEqual(['1120px', []])
  })
})

test('the guide of agents names what there is, and its links lead there', async () => {
  const text = await (await get('/llms.txt')).text()
  const links = [...text.matchAll(/\]\((http:\/\/turnpike\.test[^)]*)\)/g)].map(([, url = '']) => url)
  expect(links.length).toBeGreaterThan(20)
  const posts = ['/mcp', '/api/receipts/verify', '/api/try/anonymous-wallet', '/usage']
  for (const url of links) {
    if (posts.some((path) => url.endsWith(path))) continue
    expect([url, (await shop.fetch(new Request(url))).status]).toEqual([url, 200])
  }
})

test('crawlers are told where to read', async () => {
  const robots = await (await get('/robots.txt')).text()
  const map = /Sitemap: (\S+)/.exec(robots)?.[1] ?? ''
  const text = await (await shop.fetch(new Request(map))).text()
  expect(text).toContain('<loc>http://turnpike.test/products/local/sketch-1</loc>')
  expect(text.match(/<loc>/g)?.length).toBeGreaterThan(300)
})

test('the reference is what the documentation holds, with the address of this server', async () => {
  const { servers, ...document } = await jsonOf(await get('/openapi.json'))
  expect(servers).toEqual([{ url: 'http://turnpike.test' }])
  expect(document).toEqual(await Bun.file(new URL('../../docs/openapi.json', import.meta.url)).json())
})

test('an address that does not exist names the reference, which is there', async () => {
  const { error } = await jsonOf(await get('/nowhere'))
  const address = /GET (\/\S+)/.exec(error.message)?.[1] ?? ''
  expect((await get(address)).status).toBe(200)
})
