/** What is wrong with the settings: one line each, all reported at once. */

export type Environment = Readonly<Record<string, string | undefined>>

/** Settings that cannot be used. Each line of the message names what is wrong and never shows a secret. */
export class BadSetting extends Error {}

/** Refuses a configuration. */
export const bad = (message: string): never => {
  throw new BadSetting(message)
}

/** Runs each of these, even after one found a bad setting. Throws one BadSetting with the lines of all. */
export const together = <Parts extends Readonly<Record<string, () => unknown>>>(
  parts: Parts,
): { readonly [Name in keyof Parts]: ReturnType<Parts[Name]> } => {
  const problems = new Set<string>()
  const results: Record<string, unknown> = {}
  for (const [name, read] of Object.entries(parts))
    try {
      results[name] = read()
    } catch (error) {
      if (!(error instanceof BadSetting)) throw error
      problems.add(error.message)
    }
  if (problems.size > 0) throw new BadSetting([...problems].join('\n'))
  return results as { readonly [Name in keyof Parts]: ReturnType<Parts[Name]> }
}
