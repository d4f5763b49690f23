/**
 * Secrets from files, as containers mount them: `OPENAI_API_KEY_FILE` names a file that contains the value of
 * `OPENAI_API_KEY`.
 */
import { readFileSync } from 'node:fs'
import { messageOf } from '../../core/message-of.ts'
import { BadSetting, bad, type Environment, together } from '../../settings/bad-setting.ts'
import { settings } from '../../settings/index.ts'
import { rowsOf } from '../../settings/setting.ts'
import { vendors } from '../../vendors/index.ts'

const isSecret = (name: string): boolean =>
  /^[A-Z0-9_]+_API_KEY$/.test(name) ||
  vendors.some(({ keyVariable, alsoNeeds }) => keyVariable === name || alsoNeeds === name) ||
  Object.values(settings).some((group) =>
    rowsOf(group).some((row) => row.name === name && row.is.secret === true),
  )

type Filled = {
  /** The variables as set, plus the contents of the files, without the final line break that editors add. */
  readonly environment: Environment
  /** Throws BadSetting for unusable files, so that they are reported together with everything else. */
  readonly check: () => void
}

/** The files that the environment names, each with the variable that it replaces. */
export const secretFiles = (environment: Environment) =>
  Object.entries(environment).flatMap(([variable, path]) => {
    const name = variable.replace(/_FILE$/, '')
    return name === variable || path === undefined || path === '' || !isSecret(name) ? [] : [{ name, path }]
  })

/** Reads the files that the environment names. */
export const withSecretFiles = (environment: Environment): Filled => {
  const values = secretFiles(environment).map(({ name, path }) => ({
    name,
    read: () => valueIn(environment, name, path),
  }))
  const found = values.flatMap(({ name, read }): [string, string][] => {
    try {
      return [[name, read()]]
    } catch (error) {
      if (error instanceof BadSetting) return []
      throw error
    }
  })
  return {
    environment: { ...environment, ...Object.fromEntries(found) },
    check: () => void together(Object.fromEntries(values.map(({ name, read }) => [name, read]))),
  }
}

const valueIn = (environment: Environment, name: string, path: string): string => {
  if ((environment[name] ?? '') !== '') return bad(`${name} and ${name}_FILE are both set: keep one of them`)
  let text: string
  try {
    text = readFileSync(path, 'utf8').replace(/\r?\n$/, '')
  } catch (error) {
    return bad(`${name}_FILE names '${path}', which cannot be read: ${messageOf(error)}`)
  }
  return text === '' ? bad(`${name}_FILE names '${path}', which is empty`) : text
}
