/**
 * A recipe: how to point a client at this server. docs/clients and `turnpike connect` are written from the same text.
 */

import type { Catalogue } from '../../pricing/catalogue.ts'

/** The values that fill in a recipe; `address` is the server's, without a path. */
export type RecipeTarget = { readonly address: string; readonly key: string; readonly model: string }

type File = { readonly path: string; readonly language: string; readonly text: string }

type Filled = {
  /** Shell lines that set the variables which the client reads. */
  readonly variables: readonly string[]
  readonly files?: readonly File[]
  /** One command that asks something and prints the answer. */
  readonly first: string
}

export type Recipe = {
  /** Its name for `turnpike connect` and in the file's name. */
  readonly name: string
  readonly title: string
  readonly install: string
  /** The path on this server that it calls. */
  readonly calls: string
  /** A model to begin with; any that `GET /v1/models` lists will do. */
  readonly model: string
  readonly fill: (place: RecipeTarget) => Filled
  /** What a user should know, in a sentence or two each. */
  readonly notes?: readonly string[]
}

/** The recipe's model, or one that is always sold where that one is not. */
export const modelHere = (catalogue: Pick<Catalogue, 'find' | 'list'>, { model }: Recipe): string =>
  catalogue.find(model) === undefined
    ? (catalogue.list().find(({ kind, vendor }) => kind === 'chat' && vendor === 'local')?.id ?? model)
    : model

const block = (language: string, lines: string): string => `\`\`\`${language}\n${lines}\n\`\`\``

/** The recipe as a page of Markdown, filled in. */
export const pageOf = (recipe: Recipe, place: RecipeTarget): string => {
  const { variables, files = [], first } = recipe.fill(place)
  return `${[
    `# ${recipe.title}`,
    `It calls \`${recipe.calls}\`. Install it:`,
    block('sh', recipe.install),
    '## Address and key',
    ...(variables.length === 0 ? [] : [block('sh', variables.join('\n'))]),
    ...files.flatMap(({ path, language, text }) => [`Put this into \`${path}\`:`, block(language, text)]),
    '## A first session',
    block('sh', first),
    ...(recipe.notes ?? []),
  ].join('\n\n')}\n`
}
