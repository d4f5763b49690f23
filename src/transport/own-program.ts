/** How this program starts parts of itself: from its sources, or from the single file that it was compiled to. */
import { join } from 'node:path'

/** The argument that makes the compiled file a process of media work. */
export const MEDIA_WORK = 'media-work'

/** The command that runs this program with other arguments. */
export const programWith = (...args: readonly string[]): string[] =>
  Bun.isStandaloneExecutable ? [process.execPath, ...args] : [process.execPath, Bun.main, ...args]

/** Where a thread's module is, given its path in `src`; the compiled file has it under the same path. */
export const moduleAt = (path: `${string}.ts`): string =>
  Bun.isStandaloneExecutable
    ? join(import.meta.dir, path.replace(/\.ts$/, '.js'))
    : new URL(`../${path}`, import.meta.url).href

/** Where a release keeps a folder that was built with it: inside the compiled file, or at the package's root. */
export const releasedFolder = (name: string): string =>
  Bun.isStandaloneExecutable ? join(import.meta.dir, name) : join(import.meta.dir, '../..', name)
