/**
 * `npm run agents:update`: installs the newest version of every pinned client. A set whose name ends in a version keeps
 * its major versions; the others follow the newest. The lock is made again.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

type Manifest = { dependencies?: Record<string, string>; optionalDependencies?: Record<string, string> }

const npm = async (...args: string[]): Promise<string> => {
  const child = Bun.spawn(['npm', ...args], {
    cwd: import.meta.dir,
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [out, errors] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ])
  if ((await child.exited) !== 0) throw new Error(`npm ${args.join(' ')}: ${errors.slice(-500)}`)
  return out
}

/** The last of the versions that fit, in the order of their numbers. */
const newest = async (name: string, range: string): Promise<string> => {
  const found: unknown = JSON.parse(await npm('view', `${name}@${range}`, 'version', '--json'))
  const versions = [found].flat().map(String)
  return versions.sort(Bun.semver.order).at(-1) ?? range
}

for (const set of readdirSync(join(import.meta.dir, 'sets'))) {
  const path = join(import.meta.dir, 'sets', set, 'package.json')
  const manifest: Manifest = JSON.parse(readFileSync(path, 'utf8'))
  const keeps = /-\d[\d.]*$/.test(set) || manifest.optionalDependencies !== undefined
  for (const pinned of [manifest.dependencies ?? {}, manifest.optionalDependencies ?? {}])
    for (const [name, version] of Object.entries(pinned)) {
      const next = await newest(name, keeps ? `^${version}` : 'latest')
      if (next !== version) console.log(`${set}: ${name} ${version} → ${next}`)
      pinned[name] = next
    }
  writeFileSync(path, `${JSON.stringify(manifest, null, 2)}\n`)
}
await npm('install', '--package-lock-only', '--no-audit', '--no-fund', '--omit-lockfile-registry-resolved')
