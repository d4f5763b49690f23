/** Limits of memory, read from files as the kernel writes them. */
import { expect, test } from 'bun:test'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { machineMemory } from './machine-memory.ts'

const MACHINE = 8_000
const V1 = '4:cpu,memory:/a/b\n1:cpuset:/\n0::/\n'

test.each([
  ['a machine without groups', {}, MACHINE],
  [
    'version 2, its own group',
    { 'proc/self/cgroup': '0::/a/b\n', 'sys/fs/cgroup/a/b/memory.max': '700\n' },
    700,
  ],
  [
    'version 2, the least of the groups around it',
    {
      'proc/self/cgroup': '0::/a/b\n',
      'sys/fs/cgroup/a/b/memory.max': 'max\n',
      'sys/fs/cgroup/a/memory.max': '600\n',
      'sys/fs/cgroup/memory.max': '900\n',
    },
    600,
  ],
  ['version 2 in a container', { 'proc/self/cgroup': '0::/\n', 'sys/fs/cgroup/memory.max': '500\n' }, 500],
  [
    'version 2, a group outside the container',
    { 'proc/self/cgroup': '0::/../../x\n', 'sys/fs/cgroup/memory.max': '500\n' },
    500,
  ],
  [
    'version 1, which writes a huge number for no limit',
    {
      'proc/self/cgroup': V1,
      'sys/fs/cgroup/memory/a/b/memory.limit_in_bytes': '400\n',
      'sys/fs/cgroup/memory/memory.limit_in_bytes': '9223372036854771712\n',
    },
    400,
  ],
  [
    'version 1 in a container, whose group has another name outside',
    { 'proc/self/cgroup': V1, 'sys/fs/cgroup/memory/memory.limit_in_bytes': '300\n' },
    300,
  ],
  [
    'a limit above the machine',
    { 'proc/self/cgroup': '0::/\n', 'sys/fs/cgroup/memory.max': '9000\n' },
    MACHINE,
  ],
] as [string, Record<string, string>, number][])('%s', (_, files, bytes) => {
  const root = mkdtempSync(join(tmpdir(), 'turnpike-groups-'))
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
  }
  expect(machineMemory(root, MACHINE)).toBe(bytes)
  rmSync(root, { recursive: true })
})
