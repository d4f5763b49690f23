/**
 * The folder that a release is packed and compiled from: the program's files, its console's pages, and its
 * dependencies, pinned.
 */
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { run } from './run.ts'

const parts = ['bin', 'src', 'docs', 'README.md', 'CHANGELOG.md', 'LICENSE', 'turnpike.example.yaml']

const packageFile = z.looseObject({
  version: z.string(),
  scripts: z.record(z.string(), z.string()),
  dependencies: z.record(z.string(), z.string()),
})
const lock = z.looseObject({
  packages: z.record(
    z.string(),
    z.looseObject({ dev: z.boolean().optional(), link: z.boolean().optional() }),
  ),
})

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
    ...program
  } = packageFile.parse(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')))
  const released = {
    ...program,
    scripts: { start: program.scripts.start },
    files: [
      'bin',
      'src',
      '!src/console/web',
      'docs',
      'console-pages',
      'CHANGELOG.md',
      'turnpike.example.yaml',
      'npm-shrinkwrap.json',
    ],
  }
  writeFileSync(join(stage, 'package.json'), written(released))
  // Without it an installation would get other versions of the dependencies from one day to the next.
  writeFileSync(join(stage, 'npm-shrinkwrap.json'), written(withoutDevelopment(root)))
  symlinkSync(join(root, 'node_modules'), join(stage, 'node_modules'))
  await run([process.execPath, join(stage, 'src/console/web/build.ts'), join(stage, 'console-pages')], stage)
  return { version: program.version }
}

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
  const program = packageFile.parse(JSON.parse(readFileSync(path, 'utf8')))
  const dependencies = Object.fromEntries(
    Object.entries(program.dependencies).filter(([name]) => !pagePackages.includes(name)),
  )
  writeFileSync(path, written({ ...program, dependencies }))
  // npm finds out what nobody needs any more; the lock file has all it must know.
  await run(['npm', 'install', '--package-lock-only', '--offline', '--ignore-scripts', '--silent'], stage)
}

/** The lock file of an installation that only runs the program. */
const withoutDevelopment = (root: string) => {
  const { packages, ...others } = lock.parse(
    JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')),
  )
  const { '': self, ...installed } = packages
  const { devDependencies: _, ...program } = self ?? {}
  // A link is a folder of our tests.
  const kept = Object.entries(installed).filter(([, { dev, link }]) => dev !== true && link !== true)
  return { ...others, packages: { '': program, ...Object.fromEntries(kept) } }
}
