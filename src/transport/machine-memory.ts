/**
 * The memory that this process may use: that of the machine, or less where a group of the kernel limits it, as in a
 * container or a unit. Sources: Linux, "Control Group v2" (memory.max) and "Memory Resource Controller" (version 1,
 * memory.limit_in_bytes).
 */
import { readFileSync } from 'node:fs'
import { totalmem } from 'node:os'
import { join } from 'node:path'

const read = (path: string): string => {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

/** The group and those around it, up to the root: each may limit what is in it. */
const upwards = (group: string): string[] => {
  const parts = group.split('/').filter((part) => part !== '' && part !== '..')
  return Array.from({ length: parts.length + 1 }, (_, less) => parts.slice(0, parts.length - less).join('/'))
}

/** The files that may contain a limit for a process of these groups. A container sees its own group as the root. */
const limitFiles = (groups: string): string[] =>
  groups.split('\n').flatMap((line) => {
    const [, number, controllers = '', group = ''] = /^(\d+):([^:]*):(.*)$/.exec(line) ?? []
    if (number === '0' && controllers === '') return upwards(group).map((one) => join(one, 'memory.max'))
    if (!controllers.split(',').includes('memory')) return []
    return upwards(group).map((one) => join('memory', one, 'memory.limit_in_bytes'))
  })

/** Bytes; without any limit those of the machine. `root` is where the system's files are. */
export const machineMemory = (root = '/', machine = totalmem()): number => {
  const limits = limitFiles(read(join(root, 'proc/self/cgroup')))
    .map((file) => read(join(root, 'sys/fs/cgroup', file)).trim())
    .filter((text) => /^\d+$/.test(text))
    .map(Number)
  return Math.min(machine, ...limits)
}
