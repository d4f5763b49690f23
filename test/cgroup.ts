/** A memory group of the kernel for one process of a test, where the machine lets us make one. */
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ownProgram } from './program.ts'
import { until } from './until.ts'

type MemoryGroup = {
  /** The command that runs the product inside the group. */
  readonly program: readonly string[]
  /** Resolves once the group is gone: the kernel keeps it until its processes have left. */
  remove(): Promise<void>
}

/** Version 1 of the kernel's groups, or version 2: the folder of groups, and the name of the limit. */
const kinds = [
  ['/sys/fs/cgroup/memory', 'memory.limit_in_bytes'],
  ['/sys/fs/cgroup', 'memory.max'],
] as const

const removed = (folder: string): boolean => {
  try {
    rmdirSync(folder)
    return true
  } catch {
    return false
  }
}

/** A group with this limit in bytes; undefined where none can be made. */
export const memoryGroup = (limit: number): MemoryGroup | undefined => {
  for (const [root, limitFile] of kinds) {
    const folder = join(root, `turnpike-test-${process.pid}`)
    const own = join(folder, limitFile)
    try {
      mkdirSync(folder)
      if (!existsSync(own)) throw new Error('no group of memory')
      writeFileSync(own, String(limit))
      if (Number(readFileSync(own, 'utf8')) !== limit) throw new Error('no limit')
    } catch {
      removed(folder)
      continue
    }
    return {
      program: ['sh', '-c', `echo $$ > ${folder}/cgroup.procs && exec "$@"`, 'sh', ownProgram],
      remove: () => until(() => removed(folder)),
    }
  }
  return undefined
}
