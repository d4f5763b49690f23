/** How much of a law a run plays: `npm test` a fair sample, the same all day; CI and `npm run seeds` the whole. */
export const isCi = process.env.CI === 'true'

const isWhole = isCi || process.env.SEED !== undefined

/** How many cases are drawn. */
export const drawn = (few: number, all: number): number => (isWhole ? all : few)

/** Every nth of the cases, from one of the first on. */
export const oneOf = <T>(n: number, cases: readonly T[], from = 0): readonly T[] =>
  isWhole ? cases : cases.filter((_, at) => at % n === from % n)

const DAY_MS = 86_400_000

/** The day, from which samples that rotate are drawn, in days since 1970. SAMPLE_DAY=<number> plays one again. */
export const sampleDay = Number(process.env.SAMPLE_DAY ?? Math.floor(Date.now() / DAY_MS))
if (!Number.isSafeInteger(sampleDay) || sampleDay < 0)
  throw new Error(`SAMPLE_DAY is a number of days since 1970, not '${process.env.SAMPLE_DAY}'.`)

/** The nth of the cases that a day plays: any n days that follow each other play all, and none twice. */
export const nthOfDay = <T>(n: number, cases: readonly T[], day: number): readonly T[] =>
  cases.filter((_, at) => (at + day) % n === 0)
