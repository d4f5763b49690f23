/** One row of the settings, groups of rows, and how an environment is read by them. */
import { BadSetting, type Environment, together } from './bad-setting.ts'
import type { Form } from './form.ts'

type Setting<T = unknown> = {
  /** The environment variable. */
  readonly name: string
  readonly is: Form<T>
  /** The value when the variable is unset or empty; without a fallback that value is undefined. */
  readonly fallback?: string
  readonly meaning: string
}

/** Rows by the names that the code uses for them, in groups of groups. */
export type SettingGroup = { readonly [name: string]: Setting | SettingGroup }

/** The parsed values of a group. */
export type ValuesOf<Entry> =
  Entry extends Setting<infer T>
    ? Entry extends { readonly fallback: string }
      ? T
      : T | undefined
    : { readonly [Name in keyof Entry]: ValuesOf<Entry[Name]> }

const isRow = (entry: Setting | SettingGroup): entry is Setting => typeof entry.name === 'string'

/** The rows of a group and of all groups in it, in order. */
export const rowsOf = (group: SettingGroup): readonly Setting[] =>
  Object.values(group).flatMap((entry) => (isRow(entry) ? [entry] : rowsOf(entry)))

/** Reads one row, or all rows of a group. Throws one BadSetting for everything that is wrong. */
export const readSettings = <Entry extends Setting | SettingGroup>(
  entry: Entry,
  environment: Environment,
): ValuesOf<Entry> =>
  // The type follows from the rows; no check at run time could establish it.
  (isRow(entry)
    ? readRow(entry, environment[entry.name])
    : together(
        Object.fromEntries(
          Object.entries(entry).map(([name, member]) => [name, () => readSettings(member, environment)]),
        ),
      )) as ValuesOf<Entry>

const readRow = ({ name, is, fallback }: Setting, set: string | undefined): unknown => {
  const text = set === undefined || set === '' ? fallback : set
  if (text === undefined) return undefined
  const read = is.read(text)
  if ('unfit' in read)
    throw new BadSetting(`${name} must be ${is.allowed}${is.secret === true ? '' : `, not '${read.unfit}'`}`)
  return read.value
}
