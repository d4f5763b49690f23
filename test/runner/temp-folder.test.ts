/** A folder that a failed test leaves behind is removed at the end of its file. */
import { expect, test } from 'bun:test'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

test('a test that fails before it cleans up leaves nothing', async () => {
  const home = mkdtempSync(join(tmpdir(), 'turnpike-failing-'))
  try {
    const file = join(home, 'failing.test.ts')
    await Bun.write(
      file,
      `import { test } from 'bun:test'
       import { tempFolder } from '${import.meta.dir}/../temp-folder.ts'
       test('fails', async () => {
         await Bun.write('${home}/made', await tempFolder('turnpike-left-'))
         throw new Error('on purpose')
       })`,
    )
    const child = Bun.spawn([process.execPath, 'test', file], {
      cwd: join(import.meta.dir, '../..'),
      stdio: ['ignore', 'ignore', 'ignore'],
    })
    expect(await child.exited).toBe(1)
    const made = await Bun.file(join(home, 'made')).text()
    expect(made).toContain('turnpike-left-')
    expect(existsSync(made)).toBe(false)
  } finally {
    rmSync(home, { recursive: true })
  }
})
