/** A mutation that names what its file does not know throws instead of breaking its rule, and proves nothing. */
import { expect, test } from 'bun:test'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { mutations } from '../simulation/mutation-list.ts'
import { root } from './sources.ts'

const CONFIG = {
  linter: { rules: { recommended: false, correctness: { noUndeclaredVariables: 'error' } } },
  javascript: { globals: ['Bun'] },
}

/** The names of mutations that use a variable which is declared nowhere. */
const undeclared = (list: readonly (typeof mutations)[number][]): readonly string[] => {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-mutants-'))
  try {
    writeFileSync(join(folder, 'biome.json'), JSON.stringify(CONFIG))
    for (const [at, { file, from, to }] of list.entries())
      writeFileSync(
        join(folder, `m${at}.ts`),
        readFileSync(join(root, file), 'utf8').replace(from, () => to),
      )
    const biome = join(root, 'node_modules/.bin/biome')
    const { stdout } = Bun.spawnSync([biome, 'lint', '--reporter=github', '--max-diagnostics=none', '.'], {
      cwd: folder,
    })
    const said = stdout.toString()
    expect(said).toContain('noUndeclaredVariables')
    return list.flatMap(({ name }, at) => (said.includes(`/m${at}.ts,`) ? [name] : []))
  } finally {
    rmSync(folder, { recursive: true })
  }
}

test('mutations use only what is declared where they are', () => {
  const [first] = mutations
  if (first === undefined) throw new Error('There is no mutation.')
  const wrong = { ...first, name: 'this one does not', to: `${first.to} + nobodyDeclaredThis` }
  expect(undeclared([...mutations, wrong])).toEqual(['this one does not'])
})
