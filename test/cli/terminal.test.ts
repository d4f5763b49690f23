/** The program on a terminal and elsewhere: completion by a real shell, and bold letters only on a terminal. */
import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { runProgram } from '../program.ts'

const folder = mkdtempSync(join(tmpdir(), 'turnpike-terminal-'))
afterAll(() => rmSync(folder, { recursive: true }))

const program = resolve(import.meta.dir, '../../bin/turnpike')
const scriptOf = async (shell: string): Promise<string> => {
  const { code, out } = await runProgram(folder, {}, 'completion', shell)
  expect(code).toBe(0)
  const path = join(folder, `turnpike.${shell}`)
  writeFileSync(path, out)
  return path
}

/** What a shell offers behind these words, the last of which is being typed. */
const offered = (path: string, ...words: string[]): string[] => {
  const typed = ['turnpike', ...words].map((word) => `'${word}'`).join(' ')
  const asked = `source ${path}; COMP_WORDS=(${typed}); COMP_CWORD=${words.length}; _turnpike; printf '%s\\n' "\${COMPREPLY[@]}"`
  const { stdout, stderr } = Bun.spawnSync(['bash', '-c', asked])
  expect(stderr.toString()).toBe('')
  return stdout
    .toString()
    .split('\n')
    .filter((word) => word !== '')
}

test('bash completes commands, those below them, and options', async () => {
  const path = await scriptOf('bash')
  expect(offered(path, '')).toEqual(expect.arrayContaining(['serve', 'key', 'wallet', 'audit', '--help']))
  expect(offered(path, 'key', 'li')).toEqual(['list', 'limits'])
  expect(offered(path, 'key', 'create', '--label', 'list', '--wal')).toEqual(['--wallet'])
  expect(offered(path, 'wallet', 'show', 'some-id', '--j')).toEqual(['--json'])
  expect(offered(path, 'config', 'ch')).toEqual(['check'])
})

test('zsh and fish get the same commands; another shell is refused by name', async () => {
  const [zsh, fish] = await Promise.all(
    ['zsh', 'fish'].map(async (shell) => {
      const path = await scriptOf(shell)
      // A shell on this machine reads it without complaint.
      if (Bun.which(shell) !== null) expect(Bun.spawnSync([shell, '-n', path]).stderr.toString()).toBe('')
      return Bun.file(path).text()
    }),
  )
  expect(zsh).toStartWith('#compdef turnpike\n')
  expect(zsh).toContain('"key") compadd -- create child rotate list ')
  expect(fish).toContain(
    "complete -c turnpike -n '__turnpike_at \\'key\\'' -a 'list' -d 'all keys, newest first'\n",
  )
  expect((await runProgram(folder, {}, 'completion', 'tcsh')).code).toBe(2)
})

test('a command whose reader has gone ends without a word, as a closed pipe ends a program', () => {
  const piped = `'${program}' completion bash | true; echo "\${PIPESTATUS[0]}"`
  const { stdout, stderr } = Bun.spawnSync(['bash', '-c', piped])
  expect(stderr.toString()).toBe('')
  expect(stdout.toString()).toBe('141\n')
})

test('heads are bold on a terminal only, and not with NO_COLOR', async () => {
  const plain = (await runProgram(folder, {}, 'connect')).out
  expect(plain).not.toContain('\u001b')
  const onTerminal = async (more: Record<string, string>) => {
    let seen = ''
    const child = Bun.spawn([program, 'connect'], {
      cwd: folder,
      env: { PATH: process.env.PATH ?? '', TERM: 'xterm', ...more },
      terminal: {
        cols: 200,
        rows: 50,
        data: (_, bytes) => {
          seen += new TextDecoder().decode(bytes)
        },
      },
    })
    await child.exited
    child.terminal?.close()
    return seen.replaceAll('\r\n', '\n')
  }
  const [first = '', ...others] = plain.split('\n')
  expect(await onTerminal({})).toBe([`\u001b[1m${first}\u001b[22m`, ...others].join('\n'))
  expect(await onTerminal({ NO_COLOR: '1' })).toBe(plain)
})
