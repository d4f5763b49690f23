/** The program as one file, compiled once for a whole run: its commands start in half the time of the sources'. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { here } from '../scripts/release/executables.ts'
import { run } from '../scripts/release/run.ts'

const root = resolve(import.meta.dir, '..')

/** Makes a release of this checkout for this machine; `out` is its folder. Resolves to the executable in it. */
export const makeRelease = async (out: string): Promise<string> => {
  const script = join(root, 'scripts/release.ts')
  await run([process.execPath, script, '--dirty', '--targets', 'here', '--out', out], root)
  return join(out, `turnpike-${here()}`)
}

/** The executable that the parts of a run start in place of the sources: its path is their `TEST_PROGRAM`. */
export const programForTests = async (): Promise<{ readonly path: string; readonly stop: () => void }> => {
  const out = mkdtempSync(join(tmpdir(), 'turnpike-release-'))
  const stop = () => rmSync(out, { recursive: true, force: true })
  try {
    return { path: await makeRelease(out), stop }
  } catch (error) {
    stop()
    throw error
  }
}
