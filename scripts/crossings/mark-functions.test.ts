/** Marks change nothing of what a program does, and each function called is seen once. */
import { expect, test } from 'bun:test'
import { markFunctions } from './mark-functions.ts'

const run = (text: string): { readonly result: unknown; readonly seen: number } => {
  let seen = 0
  const result = new Function('seen', markFunctions(text, 'seen()'))(() => {
    seen++
  })
  return { result, seen }
}

test.each<[string, string, unknown, number]>([
  ['an arrow with an expression', 'const f = (a) => a ? 1 : 2; return f(0)', 2, 1],
  ['one that assigns', 'let b = 0; const f = (a) => b = a; f(3); return b', 3, 1],
  ['one that gives a default', 'const f = (a) => a ?? 4; return f()', 4, 1],
  ['one that gives an object', 'const f = (a) => ({ a }); return f(5).a', 5, 1],
  ['one in another', 'const f = (a) => (b) => a + b; return f(1)(2)', 3, 2],
  ['one with a body', 'const f = (a) => { return a }; return f(6)', 6, 1],
  ['a function', 'function f(a) { if (a) { return 7 } return 0 } return f(1)', 7, 1],
  ['a method', 'const o = { f(a) { for (const b of [a]) { return b } } }; return o.f(8)', 8, 1],
  [
    'a class',
    'class A { #b = 9; constructor() { this.c = 0 } get d() { return this.#b } } return new A().d',
    9,
    2,
  ],
  [
    'words in a string',
    `return "() => {" + 'f() {' + \`() => \${((a) => a)(1)} {\``,
    '() => {f() {() => 1 {',
    0,
  ],
  ['words in a regular expression', 'return /\\) \\{[/"]/.test(") {/")', true, 0],
  ['a division', 'const a = 8, b = 2; return a / b / 2', 2, 0],
  ['words in a comment', '/* f() { */ return 1 // () => {', 1, 0],
])('%s', (_what, text, result, seen) => {
  expect(run(text)).toEqual({ result, seen })
})
