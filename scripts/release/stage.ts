/**
 * The folder that a release is packed and compiled from: the program's files, its console's pages, and its
 * dependencies, pinned.
 */
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { run } from './run.ts'

const parts = [
  'bin',
  'src',
  'packages',
  'docs',
  'README.md',
  'CHANGELOG.md',
  'LICENSE',
  'turnpike.example.yaml',
]

const names = z.record(z.string(), z.string())
const packageFile = z.looseObject({
  version: z.string(),
  scripts: names,
  dependencies: names,
  peerDependencies: names,
})
/** The package of built-in products, which the released package contains as files. */
const mediaFile = z.looseObject({ dependencies: names, peerDependencies: names })
const lock = z.looseObject({
  packages: z.record(z.string(), z.looseObject({ link: z.boolean().optional() })),
})

const parsed = <T>(schema: z.ZodType<T>, path: string): T =>
  schema.parse(JSON.parse(readFileSync(path, 'utf8')))

const written = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`

/** Copies and makes the contents of the release. Returns its version, which only package.json has. */
export const makeStage = async (root: string, stage: string): Promise<{ version: string }> => {
  for (const part of parts)
    cpSync(join(root, part), join(stage, part), {
      recursive: true,
      filter: (path) => !path.endsWith('.test.ts') && !path.startsWith(join(root, 'docs', 'pictures')),
    })
  const {
    devDependencies: _,
    allowScripts: _scripts,
    workspaces: _workspaces,
    peerDependencies,
    peerDependenciesMeta: _meta,
    ...program
  } = parsed(packageFile, join(root, 'package.json'))
  const media = parsed(mediaFile, join(root, 'packages/local-media/package.json'))
  const released = {
    ...program,
    dependencies: { ...program.dependencies, ...media.dependencies },
    // Who installs the package gets everything; a checkout leaves these out until they are asked for.
    optionalDependencies: { ...peerDependencies, ...media.peerDependencies },
    scripts: { start: program.scripts.start },
    files: [
      'bin',
      'src',
      '!src/console/web',
      'packages',
      'docs',
      'console-pages',
      'CHANGELOG.md',
      'turnpike.example.yaml',
      'npm-shrinkwrap.json',
    ],
  }
  writeFileSync(join(stage, 'package.json'), written(released))
  // Without it an installation would get other versions of the dependencies from one day to the next.
  writeFileSync(join(stage, 'npm-shrinkwrap.json'), written(lockOf(root, released)))
  await prune(stage)
  symlinkSync(join(root, 'node_modules'), join(stage, 'node_modules'))
  await run([process.execPath, join(stage, 'src/console/web/build.ts'), join(stage, 'console-pages')], stage)
  return { version: program.version }
}

const releasedFile = z.looseObject({ dependencies: names })

/** Packages that only make the console's pages. */
const pagePackages = [
  '@mantine/core',
  '@mantine/hooks',
  '@tanstack/react-query',
  '@tanstack/react-router',
  'react',
  'react-dom',
]

/**
 * Removes the packages that only made the pages, now that those exist: nobody who installs the package has to fetch
 * them.
 */
export const leaveOutPages = async (stage: string): Promise<void> => {
  const path = join(stage, 'package.json')
  const program = parsed(releasedFile, path)
  const dependencies = Object.fromEntries(
    Object.entries(program.dependencies).filter(([name]) => !pagePackages.includes(name)),
  )
  writeFileSync(path, written({ ...program, dependencies }))
  await prune(stage)
}

/** npm finds out what nobody needs any more; the lock file has all it must know. */
const prune = (stage: string): Promise<string> =>
  run(['npm', 'install', '--package-lock-only', '--offline', '--ignore-scripts', '--silent'], stage)

/** Our lock file with the released package as its root: without links, which are folders of this checkout. */
const lockOf = (root: string, released: object) => {
  const { packages, ...others } = parsed(lock, join(root, 'package-lock.json'))
  const installed = Object.entries(packages).filter(
    ([path, { link }]) => path.startsWith('node_modules/') && link !== true,
  )
  return { ...others, packages: { '': released, ...Object.fromEntries(installed) } }
}
