/**
 * The settings as operators see them: each with its value, and whether the environment set it. Secrets are never shown.
 */
import type { Environment } from './bad-setting.ts'
import { rowsOf, type SettingGroup } from './setting.ts'

export type ShownSetting = {
  /** The group of rows it belongs to. */
  readonly group: string
  readonly name: string
  /** As it was written; undefined when there is none, or when it is a secret. */
  readonly value: string | undefined
  readonly from: 'environment' | 'default' | 'unset'
  readonly secret: boolean
  readonly allowed: string
  readonly meaning: string
}

/** An address without the name and password in it. */
const withoutPassword = (text: string): string => text.replace(/(:\/\/)[^/@]*@/g, '$1…@')

/** Every setting of the groups as the environment has it. */
export const shownSettings = (
  groups: SettingGroup,
  environment: Environment,
  /** Defaults that this machine makes smaller. */
  smaller: Environment = {},
): readonly ShownSetting[] =>
  Object.entries(groups).flatMap(([group, entry]) =>
    rowsOf({ [group]: entry }).map(({ name, is, fallback, meaning }): ShownSetting => {
      const set = environment[name]
      const given = set !== undefined && set !== ''
      const text = given ? set : (smaller[name] ?? fallback)
      const secret = is.secret === true
      return {
        group,
        name,
        value: secret || text === undefined ? undefined : withoutPassword(text),
        from: given ? 'environment' : fallback === undefined ? 'unset' : 'default',
        secret,
        allowed: is.allowed,
        meaning,
      }
    }),
  )
