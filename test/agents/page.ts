/** Reads a recipe in docs/clients back into the steps of a user. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { recipes } from '../../src/products/recipes/index.ts'
import type { RecipeTarget } from '../../src/products/recipes/recipe.ts'

export type Page = {
  /** The packages that the page says to install. */
  readonly install: string
  readonly variables: string
  readonly files: readonly { readonly path: string; readonly text: string }[]
  readonly first: string
}

const docs = join(import.meta.dir, '../../docs/clients')

/** The page of a client, with this address, key and model in place of its own. */
export const readPage = (name: string, { address, key, model }: RecipeTarget): Page => {
  const recipe = recipes.find((one) => one.name === name)
  if (recipe === undefined) throw new Error(`there is no recipe '${name}'`)
  const text = readFileSync(join(docs, `${name}.md`), 'utf8')
    .replaceAll('http://127.0.0.1:8787', address)
    .replaceAll('sk-…', key)
    .replaceAll(recipe.model, model)
  const files = [...text.matchAll(/Put this into `([^`]+)`:\n\n```\w+\n([\s\S]*?)\n```/g)]
  const shells = [...text.matchAll(/```sh\n([\s\S]*?)\n```/g)].map(([, lines = '']) => lines)
  const install = shells.shift()
  const first = shells.pop()
  if (install === undefined || first === undefined) throw new Error(`docs/clients/${name}.md has no commands`)
  return {
    install,
    variables: shells.join('\n'),
    files: files.map(([, path = '', lines = '']) => ({ path, text: lines })),
    first,
  }
}
