/**
 * `npm run add -- media traces vouchers`: fetches the npm packages of a part that a plain installation leaves out, in the versions
 * that are pinned. package.json does not change, and the next `npm ci` removes them again.
 */
import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { z } from 'zod'

const root = resolve(import.meta.dir, '..')
const packageFile = z.looseObject({ peerDependencies: z.record(z.string(), z.string()) })

type Part = { readonly file: string; readonly packages: RegExp }

/** Where each part names its packages: as peers that may be missing. */
const parts: Readonly<Record<string, Part>> = {
  media: { file: 'packages/local-media/package.json', packages: /./ },
  traces: { file: 'package.json', packages: /^@opentelemetry\// },
  vouchers: { file: 'package.json', packages: /^secp256k1$/ },
}

const packagesOf = (part: string): readonly string[] => {
  const { file = '', packages = /./ } = parts[part] ?? {}
  const { peerDependencies } = packageFile.parse(JSON.parse(readFileSync(join(root, file), 'utf8')))
  return Object.entries(peerDependencies).flatMap(([name, version]) =>
    packages.test(name) ? [`${name}@${version}`] : [],
  )
}

const isThere = (part: string): boolean =>
  packagesOf(part).every((one) =>
    existsSync(join(root, 'node_modules', one.replace(/@[^@]*$/, ''), 'package.json')),
  )

const asked = process.argv.slice(2)
const unknown = asked.find((name) => !(name in parts))
if (unknown !== undefined || asked.length === 0) {
  process.stderr.write(`add: name one or more of ${Object.keys(parts).join(', ')}\n`)
  process.exit(1)
}
const missing = asked.filter((part) => !isThere(part))
if (missing.length === 0) {
  process.stdout.write(`${asked.join(', ')}: all packages are here\n`)
  process.exit(0)
}
// npm removes what neither the lock file nor its command names, so parts that were added before are named again.
const wanted = Object.keys(parts).filter((part) => missing.includes(part) || isThere(part))
const command = [
  'npm',
  'install',
  '--no-save',
  '--save-prod',
  '--omit=dev',
  '--no-audit',
  '--loglevel=error',
  ...wanted.flatMap(packagesOf),
]
const { exitCode } = Bun.spawnSync(command, { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] })
process.exit(exitCode)
