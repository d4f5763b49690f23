/** Values that are made once per database. */
import { type Engine, once, statement } from './engine.ts'
import { onlyRow, textOf } from './row.ts'

/** The value of that name, made if there is none. If several processes make it at once, all get the first one. */
export const settingIn = async (engine: Engine, name: string, make: () => string): Promise<string> => {
  const read = () => once(engine, 'control', statement('select value from setting where name = $1', name))
  const [found] = await read()
  if (found !== undefined) return textOf(found, 'value')
  await once(
    engine,
    'control',
    statement(
      'insert into setting (name, value) values ($1, $2) on conflict (name) do nothing',
      name,
      make(),
    ),
  )
  return textOf(onlyRow(await read()), 'value')
}
