/** Whatever component a page draws has its styles: without them its parts lie beside each other, as they are. */
import { expect, test } from 'bun:test'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const web = fileURLToPath(new URL('..', import.meta.url))
const read = (path: string): string => readFileSync(`${web}/${path}`, 'utf8')

test('every component in use brings its styles, if it has some', () => {
  const pages = readdirSync(web, { recursive: true, encoding: 'utf8' }).filter((path) =>
    path.endsWith('.tsx'),
  )
  const used = pages.flatMap((path) =>
    [...read(path).matchAll(/import \{([^}]*)\} from '@mantine\/core'/g)].flatMap(([, names = '']) =>
      names.split(',').map((name) => name.trim()),
    ),
  )
  expect(used).toContain('Checkbox')
  const styles = fileURLToPath(new URL('.', import.meta.resolve('@mantine/core/styles/Button.css')))
  const given = read('styles.ts')
  const without = [...new Set(used)].filter(
    (name) => existsSync(`${styles}/${name}.css`) && !given.includes(`/styles/${name}.css'`),
  )
  expect(without).toEqual([])
})
