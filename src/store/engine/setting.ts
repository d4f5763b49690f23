/** Values that are made once per database. */
import { type Engine, once } from './engine.ts'
import { textOf } from './row.ts'

/** The value of that name, if there is one. */
export const readSettingIn = async (engine: Engine, name: string): Promise<string | undefined> => {
  const [found] = await once(engine, 'control', 'select value from setting where name = $1', name)
  return found === undefined ? undefined : textOf(found, 'value')
}

/** Sets the value of that name, whatever it was. */
export const writeSettingIn = async (engine: Engine, name: string, value: string): Promise<void> => {
  await once(
    engine,
    'control',
    'insert into setting (name, value) values ($1, $2) on conflict (name) do update set value = excluded.value',
    name,
    value,
  )
}

/** The value of that name, made if there is none. If several processes make it at once, all get the first one. */
export const settingIn = async (engine: Engine, name: string, make: () => string): Promise<string> => {
  const found = await readSettingIn(engine, name)
  if (found !== undefined) return found
  await once(
    engine,
    'control',
    'insert into setting (name, value) values ($1, $2) on conflict (name) do nothing',
    name,
    make(),
  )
  const made = await readSettingIn(engine, name)
  if (made === undefined) throw new Error(`the setting '${name}' vanished while it was made`)
  return made
}
