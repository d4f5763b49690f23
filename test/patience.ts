/**
 * Loaded before the tests of any `bun test` in this repository. It gives each test the patience of all, ends the
 * programs and removes the folders that a failed test left, and notes which test runs, so that a hanging part of
 * `npm test` can be named.
 *
 * Bun takes a time-out for all tests only as a flag of its command, and forgets one that is set before the first file
 * after that file (https://github.com/oven-sh/bun/issues/43787). So each test file sets it for itself, by a line that
 * this puts before its first one.
 */
import { plugin } from 'bun'
import { PATIENCE_MS } from './now.ts'

const notedTest = import.meta.resolve('./noted-test.ts')

const program = import.meta.resolve('./program.ts')

const tempFolder = import.meta.resolve('./temp-folder.ts')

const head = [
  `import { afterAll as atTheEnd, setDefaultTimeout as havePatience } from 'bun:test';havePatience(${PATIENCE_MS});`,
  `import { endPrograms } from '${program}';atTheEnd(endPrograms);`,
  `import { removeTempFolders } from '${tempFolder}';`,
].join('')

/** Comes after what the file itself does at its end. */
const tail = '\natTheEnd(removeTempFolders);'

plugin({
  name: 'patience',
  setup: (build) => {
    build.onLoad({ filter: /\.test\.ts$/ }, async ({ path }) => {
      const text = await Bun.file(path).text()
      const noted =
        process.env.TEST_NOW === undefined ? text : text.replace("from 'bun:test'", `from '${notedTest}'`)
      return { loader: 'ts', contents: head + noted + tail }
    })
  },
})
