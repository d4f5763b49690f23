/** The files of a part of `npm test`, and which of them a day's sample plays. */
import { resolve } from 'node:path'
import type { Part } from './parts.ts'
import { nthOfDay } from './sample.ts'

const root = resolve(import.meta.dir, '..')

/** Its test files, from the root on and sorted; none for a part that is a script of its own. */
export const filesOf = ({ command }: Part): readonly string[] =>
  command[1] !== 'test'
    ? []
    : command
        .slice(2)
        .filter((word) => !word.startsWith('--'))
        .flatMap((folder) => [...new Bun.Glob(`${folder}/**/*.test.ts`).scanSync({ cwd: root })])
        .filter((file) => !file.includes('node_modules'))
        .sort()

/** The part with the files of that day in place of its folders; as it is, if it has no `rotates`. */
export const ofDay = (part: Part, day: number): Part => {
  if (part.rotates === undefined) return part
  const flags = part.command.filter((word, at) => at < 2 || word.startsWith('--'))
  const files = nthOfDay(part.rotates, filesOf(part), day).map((file) => `./${file}`)
  return { ...part, command: [...flags, ...files] }
}
