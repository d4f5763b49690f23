/** JSON with something wrong in it: a place changed in a value, or a text that no value can express. */
import type { Json } from '../../src/core/json-body.ts'
import type { Choose } from './choose.ts'

/** Values for places where something else should be. */
const oddities: readonly Json[] = [
  null,
  true,
  false,
  0,
  -0,
  -1,
  0.1,
  1e308,
  2 ** 53,
  -(2 ** 63),
  '',
  ' ',
  'x',
  '0',
  '\u0000',
  '\ud800',
  '\u202e\u200d',
  '漢字😀',
  'e\u0301'.repeat(50),
  ' '.repeat(5_000),
  'a'.repeat(20_000),
  '__proto__',
  'constructor',
  '../../etc/passwd',
  'data:image/png;base64,AAAA',
  'http://127.0.0.1/',
  [],
  [[]],
  [null],
  {},
  { toString: 1, constructor: null },
  { type: 'text' },
  { type: 'function', function: {} },
  { type: {} },
]

export const nested = (depth: number, open: string, close: string): string =>
  `${open.repeat(depth)}1${close.repeat(depth)}`

/** The value with one place in it changed. */
export const changed = (value: Json, choose: Choose, depth = 0): Json => {
  const names = typeof value === 'object' && value !== null ? Object.keys(value) : []
  if (names.length === 0 || (depth > 0 && choose.rarely(3))) return choose.one(oddities)
  const name = choose.one(names)
  if (Array.isArray(value)) {
    const at = Number(name)
    if (choose.rarely(6)) return value.toSpliced(at, 1)
    if (choose.rarely(6)) return [...value, ...value]
    return value.with(at, changed(value[at] ?? null, choose, depth + 1))
  }
  const object = value as { readonly [name: string]: Json }
  const { [name]: old = null, ...others } = object
  if (choose.rarely(6)) return others
  if (choose.rarely(8)) return { ...others, [JSON.stringify(choose.one(oddities))]: old }
  return { ...others, [name]: changed(old, choose, depth + 1) }
}

/** The text with something in it that JSON values cannot express. */
export const spoilt = (text: string, choose: Choose): string => {
  const at = choose.below(text.length + 1)
  switch (choose.below(8)) {
    case 0:
      return text.slice(0, at)
    case 1:
      return text.slice(0, at) + choose.one(['\u0000', '\\', '"', ',', '}', '[', '\ufeff']) + text.slice(at)
    case 2:
      return text.replace(/\d+/, choose.one(['1e999', '-1e999', '9'.repeat(400), '01', 'NaN', '1e-999']))
    case 3:
      return text.replace(/^\{/, `{"a":${nested(choose.one([60, 70, 5_000, 100_000]), '[', ']')},`)
    case 4:
      return text.replace(/^\{/, `{"a":${nested(choose.one([60, 70, 20_000]), '{"a":', '}')},`)
    // A member that is there twice.
    case 5:
      return text.replace(/^\{("[^"]*":)/, (all, member: string) => `{${member}1,${all.slice(1)}`)
    case 6:
      return text + choose.one([text, ' ', '\n{}', 'x'])
    default:
      return text.replace(/":/, '"\u2028:')
  }
}
