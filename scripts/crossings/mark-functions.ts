/** Puts a mark at the beginning of every function of a JavaScript text, as Bun prints it from TypeScript. */

const notFunctions = new Set(['if', 'for', 'while', 'switch', 'catch', 'with'])
/** After these a slash begins a regular expression, not a division. */
const beforeRegex = /(?:[(,=:[!&|?{};+\-*%~^<>]|\b(?:return|typeof|case|in|of|await|void|throw|delete))\s*$/

const token =
  /\/\/[^\n]*|\/\*[\s\S]*?\*\/|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|`|\/|=>\s*|[(){}]|[\w$#]+|\s+|./gsy

/** The end of a template that begins at `from`: its parts may hold others. */
const endOfTemplate = (text: string, from: number): number => {
  let depth = 0
  for (let at = from + 1; at < text.length; at++) {
    const sign = text[at]
    if (sign === '\\') at++
    else if (depth === 0 && sign === '`') return at + 1
    else if (depth > 0 && sign === '`') at = endOfTemplate(text, at) - 1
    else if (sign === '$' && text[at + 1] === '{') {
      depth++
      at++
    } else if (depth > 0 && sign === '{') depth++
    else if (depth > 0 && sign === '}') depth--
  }
  return text.length
}

const regex = /\/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\[\n])+\/[a-z]*/y

/** The text with `mark` called first in each function. `mark` is an expression whose value is falsy, such as `seen(1)`. */
export const markFunctions = (text: string, mark: string): string => {
  let out = ''
  /** The word before each open parenthesis. */
  const openers: string[] = []
  let word = ''
  /** The word before the list in parentheses that has just ended. */
  let closed: string | undefined
  token.lastIndex = 0
  while (token.lastIndex < text.length) {
    const at = token.lastIndex
    let [piece = ''] = token.exec(text) ?? []
    if (piece === '`') piece = text.slice(at, endOfTemplate(text, at))
    else if (piece === '/' && beforeRegex.test(out)) {
      regex.lastIndex = at
      piece = regex.exec(text)?.[0] ?? piece
    }
    token.lastIndex = at + piece.length
    out += piece
    if (piece.startsWith('=>')) {
      // As a condition it takes no more of what follows than the arrow does.
      if (text[token.lastIndex] === '{') {
        out += `{${mark};`
        token.lastIndex++
      } else out += `${mark} ? 0 : `
    } else if (piece === '{' && closed !== undefined && !notFunctions.has(closed)) out += `${mark};`
    if (/^\s+$/.test(piece) || /^\/[/*]/.test(piece)) continue
    if (piece === '(') openers.push(word)
    closed = piece === ')' ? (openers.pop() ?? '') : undefined
    word = /^[\w$#]+$/.test(piece) ? piece : ''
  }
  return out
}
