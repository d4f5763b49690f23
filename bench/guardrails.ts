/**
 * `npx bun bench/guardrails.ts [other checkout or -] [kind]`: processor time that all built-in detectors take for 10 KB of several kinds of
 * text, whole and in pieces of four letters; in turns with those of another checkout, if one is named. Medians and least.
 */
import { resolve } from 'node:path'

const LETTERS = 10_240
const ROUNDS = 15
const TIMES = 40
const WARM = 200

const filled = (line: (at: number) => string): string => {
  let text = ''
  for (let at = 0; text.length < LETTERS; at++) text += line(at)
  return text.slice(0, LETTERS)
}
const words =
  'The quick brown fox jumps over the lazy dog near the river, and then goes home to sleep. '.split(' ')
const word = (at: number): string => words[(at * 7919) % words.length] ?? ''

const texts: Readonly<Record<string, string>> = {
  prose: filled((at) => `${word(at)}${at % 90 === 0 ? '.\n' : ' '}`),
  code: filled(
    (at) => `  const value${at} = await read(this.#${word(at)}[${at}] ?? 0, { isLast: at > ${at * 3} })\n`,
  ),
  json: filled(
    (at) => `{"id":"item-${at * 7919}","price":${at * 1.25},"at":"2026-11-26T10:0${at % 10}:00Z","on":true},`,
  ),
  logs: filled(
    (at) =>
      `2026-11-26 10:04:${10 + (at % 50)},${100 + at} INFO [HTTP-${at}] GET /V1/ITEMS 200 ${at * 37} MS\n`,
  ),
  people: filled(
    (at) => `Ann O. <ann${at}@example.com>, +49 30 1234567, 4111 1111 1111 1111, DE89370400440532013000\n`,
  ),
  german: filled((at) => `${word(at)} über größere Flüße – „schön“ ${at}\u00a0000 €, `),
  letter: filled(
    (at) =>
      `Die Prüfung der größeren Anträge läuft über die Behörde, die für ${word(at)} zuständig ist; ${at} Fälle.\n`,
  ),
  chinese: filled((at) => `我们在第${at}天看到了一只狐狸，它跳过了懒狗。`),
}

type Guard = { readonly name: string; readonly scan: (pieces: readonly string[]) => void }

const guardOf = async (name: string, root: string): Promise<Guard> => {
  const at = (file: string): Promise<any> => import(resolve(root, 'src/guardrails', file))
  const [{ detectors }, { Scan, Scanner }] = [await at('detectors.ts'), await at('scanner.ts')]
  const scanner = new Scanner(detectors.map((detector: unknown) => ({ detector, action: 'mask' })))
  const scan = (pieces: readonly string[]): void => {
    const one = new Scan(scanner, () => undefined)
    for (const piece of pieces) one.feed(piece, false)
    one.feed('', true)
  }
  return { name, scan }
}

/** Microseconds of processor time that this process has had. */
const cpu = (): number => {
  const { user, system } = process.cpuUsage()
  return user + system
}

const [other, only = ''] = process.argv.slice(2)
const guards = [await guardOf('new', resolve(import.meta.dir, '..'))]
if (other !== undefined && other !== '-') guards.push(await guardOf('old', resolve(other)))

const inPieces = (text: string): string[] => text.match(/.{1,4}/gs) ?? []
const kinds = Object.entries(texts).flatMap(([name, text]) => [
  { name, pieces: () => [text.slice(0, -1) + text.at(-1)] },
  { name: `${name}, in pieces`, pieces: () => inPieces(text) },
])
for (const { name, pieces } of kinds.filter((one) => one.name.includes(only))) {
  const inputs = Array.from({ length: TIMES }, pieces)
  const figures = guards.map((guard) => ({ guard, micros: [] as number[] }))
  for (const { guard } of figures)
    for (let time = 0; time < WARM; time++) guard.scan(inputs[time % TIMES] ?? [])
  for (let round = 0; round < ROUNDS; round++)
    for (const { guard, micros } of figures) {
      const before = cpu()
      for (const input of inputs) guard.scan(input)
      micros.push((cpu() - before) / TIMES)
    }
  const shown = figures.map(({ guard, micros }) => {
    micros.sort((a, b) => a - b)
    return `${guard.name} ${(micros[ROUNDS >> 1] ?? 0).toFixed(0)} (least ${(micros[0] ?? 0).toFixed(0)}) µs`
  })
  process.stdout.write(`${name.padEnd(20)} ${shown.join('   ')}\n`)
}
