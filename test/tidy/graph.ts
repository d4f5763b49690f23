/** The rules about files as a whole: which file imports which, and what of it. */
import type { Source } from './sources.ts'

type Import = { readonly from: string; readonly names: readonly string[] }

const importPattern =
  /^(?:import|export)\s+(?:type\s+)?(?:\{(?<names>[^}]*)\}|[\w* ]+)\s+from\s+'(?<from>\.[^']+)'|(?:^import |\bimport\()'(?<whole>\.[^']+)'/gm

/** The relative imports of a source, with the names it takes; `*` stands for all of them. */
export const importsOf = ({ path, text }: Source): readonly Import[] =>
  [...text.matchAll(importPattern)].map(({ groups }) => ({
    from: new URL(groups?.from ?? groups?.whole ?? '', `file:///${path}`).pathname.slice(1),
    names: (groups?.names ?? '*').split(',').map((name) => name.trim().replace(/^type | as \w+$/g, '')),
  }))

/**
 * The files on circles of imports: what is left when files that lead nowhere, or come from nowhere, are removed again
 * and again.
 */
export const importCycles = (sources: readonly Source[]): string[] => {
  const edges = new Map(sources.map((source) => [source.path, importsOf(source).map(({ from }) => from)]))
  const prune = (isLoose: (path: string, to: readonly string[]) => boolean): boolean => {
    const loose = [...edges].filter(([path, to]) => isLoose(path, to))
    for (const [path] of loose) edges.delete(path)
    return loose.length > 0
  }
  while (
    prune((_path, to) => !to.some((each) => edges.has(each))) ||
    prune((path) => ![...edges.values()].some((to) => to.includes(path)))
  );
  return [...edges].map(
    ([path, to]) => `${path} imports in a circle ${to.filter((each) => edges.has(each)).join(', ')}`,
  )
}

/** The files whose exports another file gives on, all of them: `export * from`. */
const givenOn = (sources: readonly Source[]): ReadonlyMap<string, readonly string[]> =>
  new Map(
    sources.map((source) => {
      const text = [...source.text.matchAll(/^export \* from .*$/gm)].join('\n')
      return [source.path, importsOf({ ...source, text }).map(({ from }) => from)]
    }),
  )

/** What a file takes by the name of a whole other file: `acts.keyCreate` of `import * as acts`. */
const takenByName = ({ path, text }: Source): readonly Import[] =>
  [...text.matchAll(/^import \* as (\w+) from '(\.[^']+)'/gm)].map(([, as, from = '']) => ({
    from: new URL(from, `file:///${path}`).pathname.slice(1),
    names: [...text.matchAll(new RegExp(`\\b${as}\\.(\\w+)`, 'g'))].map(([, name = '']) => name),
  }))

/** What a file below src exports and no other file imports. */
export const unusedExports = (sources: readonly Source[]): string[] => {
  const given = givenOn(sources)
  const used = new Set(
    sources.flatMap((source) => {
      const named = takenByName(source)
      const known = [...named.map(({ from }) => from), ...(given.get(source.path) ?? [])]
      return [
        ...importsOf(source).filter(({ from, names }) => !(names[0] === '*' && known.includes(from))),
        ...named.flatMap((one) => [one, ...(given.get(one.from) ?? []).map((from) => ({ ...one, from }))]),
      ].flatMap(({ from, names }) => names.map((name) => `${from} ${name}`))
    }),
  )
  return sources
    .filter(({ path }) => path.startsWith('src/') && !used.has(`${path} *`))
    .flatMap(({ path, text }) =>
      [...text.matchAll(/^export (?:async )?(?:const|function\*?|class|type|interface) (\w+)/gm)]
        .filter(([, name]) => !used.has(`${path} ${name}`))
        .map(([, name]) => `${path} exports ${name}, which nobody imports`),
    )
}
