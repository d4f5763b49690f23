/** What a server has in memory before it is asked: the libraries of the console, of tools and of payers come with their first use. */
import { expect, test } from 'bun:test'
import { join } from 'node:path'

test('a server that nobody asked has loaded the libraries of a call alone', async () => {
  const app = JSON.stringify(join(import.meta.dir, 'app.ts'))
  const program = `
    const { createApp } = await import(${app})
    const paths = Object.keys(require.cache)
    const libraries = new Set(paths.flatMap((path) => /node_modules\\/((?:@[^/]+\\/)?[^/]+)/.exec(path)?.[1] ?? []))
    console.log(typeof createApp, paths.length > 100, ...[...libraries].sort())`
  const child = Bun.spawn([process.execPath, '-e', program], { stdio: ['ignore', 'pipe', 'inherit'] })
  expect((await new Response(child.stdout).text()).trim()).toBe('function true image-size zod')
})
