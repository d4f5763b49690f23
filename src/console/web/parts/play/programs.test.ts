/** The programs that are shown ask what they say: each is read by its own language, whatever is in the question. */
import { expect, test } from 'bun:test'
import { type ChatBody, programsFor } from './programs.ts'

const body: ChatBody = {
  model: 'local/echo-1',
  messages: [
    { role: 'system', content: 'Say "it\'s" \\ `so`,\nor $HOME not: 😀 \u2028' },
    { role: 'user', content: [{ type: 'text', text: '' }] },
    { role: 'assistant', content: null, tool_calls: [] },
  ],
  temperature: 0.5,
  tools: [{ type: 'function', function: { name: 'weather', strict: true, parameters: {} } }],
}

const textIn = (name: string): string =>
  programsFor('http://127.0.0.1:1', 'sk-test', body).find((one) => one.name === name)?.text ?? ''

const run = (command: readonly string[], input = ''): string => {
  const child = Bun.spawnSync([...command], { stdin: Buffer.from(input) })
  if (!child.success) throw new Error(child.stderr.toString())
  return child.stdout.toString()
}

const python = Bun.which('python3')

test.skipIf(python === null)('Python reads the arguments as they are', () => {
  const reader = `import ast, json, sys
call = [one for one in ast.walk(ast.parse(sys.stdin.buffer.read())) if isinstance(one, ast.Call) and getattr(one.func, 'attr', '') == 'create'][0]
print(json.dumps({one.arg: ast.literal_eval(one.value) for one in call.keywords}))`
  expect(JSON.parse(run([python ?? '', '-c', reader], textIn('Python')))).toEqual(body)
})

test('a shell gives curl the body as it is', () => {
  const said = run(['sh', '-c', `curl() { for last; do :; done; printf '%s' "$last"; }\n${textIn('curl')}`])
  expect(JSON.parse(said)).toEqual(body)
})

test('the body in TypeScript and in Go is a literal with the same value', () => {
  const [, typescript = ''] = /create\(([\s\S]*)\)\.withResponse/.exec(textIn('TypeScript')) ?? []
  expect(JSON.parse(typescript)).toEqual(body)
  const [, go = ''] = /body := ("[\s\S]*")\n\trequest/.exec(textIn('Go')) ?? []
  expect(JSON.parse(JSON.parse(go))).toEqual(body)
})
