/**
 * Loaded before a run, it breaks one rule of the protocol: the mutation that `MUTATION` names. The sources stay as they
 * are; the text is replaced as its file is loaded.
 */
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { plugin } from 'bun'
import { mutations } from './mutation-list.ts'

const root = resolve(import.meta.dir, '../..')

const broken = mutations.find(({ name }) => name === process.env.MUTATION)
if (broken === undefined) throw new Error(`no mutation is named '${process.env.MUTATION}'`)
const path = resolve(root, broken.file)
const pieces = readFileSync(path, 'utf8').split(broken.from)
if (pieces.length !== 2) throw new Error(`the text to replace occurs ${pieces.length - 1} times`)
const literal = path.replaceAll(/[^\w/]/g, '\\$&')

plugin({
  name: 'mutation',
  setup: (build) => {
    build.onLoad({ filter: new RegExp(`^${literal}$`) }, () => ({
      loader: 'ts',
      contents: pieces.join(broken.to),
    }))
  },
})
