/** Settings of a house whose organisations live in several cells: which one this is, and where the others are. */
import { matching } from './form.ts'
import type { SettingGroup } from './setting.ts'

/** Access tokens of agents begin with `sk-at-` in every cell, so none has that name. */
export const CELL_NAME = /^(?!at$)[a-z][a-z0-9]{0,7}$/
export const CELL_NAME_IS = 'a name of 1 to 8 small letters and digits, such as c2, but not at'

/** In the answer to a request whose key is of another cell: that cell, to which who knows the cells passes it on. */
export const CELL_HEADER = 'x-turnpike-cell'

export const cellSettings = {
  own: {
    name: 'CELL',
    is: matching(CELL_NAME, CELL_NAME_IS),
    meaning:
      'The cell that this server is of: new keys and credentials carry its name (`sk-c2-…`), and those of other cells are not looked up. Without it keys have no name, and are the first cell’s.',
  },
  directory: {
    name: 'CELLS',
    is: matching(/^.+$/, 'a path'),
    meaning:
      'The file that names all cells and where they are (scaling.md): `turnpike route` needs it; a server that has it passes requests of other cells on, in place of refusing them. A changed file takes effect within seconds.',
  },
} as const satisfies SettingGroup
