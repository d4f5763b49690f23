/** Folders of tests in the system's temporary folder. */
import { rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const made = new Set<string>()

/** Makes one. It goes at the end of its test file at the latest: a test that fails does not come to its own clean-up. */
export const tempFolder = async (name: string): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), name))
  made.add(folder)
  return folder
}

/** What patience.ts does at the end of each test file. */
export const removeTempFolders = (): void => {
  for (const folder of made) rmSync(folder, { recursive: true, force: true })
  made.clear()
}
