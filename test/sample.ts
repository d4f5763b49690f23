/** How much of a law a run plays: `npm test` a fair sample, the same each time; CI and `npm run seeds` the whole. */
export const isCi = process.env.CI === 'true'

const isWhole = isCi || process.env.SEED !== undefined

/** How many cases are drawn. */
export const drawn = (few: number, all: number): number => (isWhole ? all : few)

/** Every nth of the cases, from one of the first on. */
export const oneOf = <T>(n: number, cases: readonly T[], from = 0): readonly T[] =>
  isWhole ? cases : cases.filter((_, at) => at % n === from % n)
