/**
 * `npm run costs`: what each test file costs in processor time, which a busy machine changes little: that of its process,
 * of all that it started and waited for, and of PostgreSQL. Files run alone, one after the other.
 *
 * Options: --only <parts>, by pieces of their names with commas between; --files <pieces of paths>, likewise.
 */
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { SQL } from 'bun'
import { programForTests } from './made-program.ts'
import { filesOf } from './part-files.ts'
import { beside, inOrder, type Part } from './parts.ts'
import { templateForTests } from './postgres.ts'

const root = resolve(import.meta.dir, '..')
const piecesOf = (name: string): readonly string[] => {
  const at = process.argv.indexOf(name)
  return at < 0 ? [''] : (process.argv[at + 1] ?? '').split(',')
}
const has = (name: string, text: string): boolean => piecesOf(name).some((piece) => text.includes(piece))

/** Seconds that a process has used; with `reaped`, also those that its ended children have. Source: proc(5), stat. */
const secondsOf = (pid: string, reaped: boolean): number => {
  try {
    const words = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
    const ticks = words.slice(11, reaped ? 15 : 13).reduce((sum, word) => sum + Number(word), 0)
    return ticks / 100
  } catch {
    // It has ended meanwhile: its parent counts it.
    return 0
  }
}

/** Seconds that a server on this machine and all its processes have used. */
const secondsOfServer = (pid: string): number => {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')
  return children.reduce((sum, child) => sum + secondsOf(child, false), secondsOf(pid, true))
}

const serverPid = async (url: string): Promise<string> => {
  const sql = new SQL({ url, max: 1 })
  const [row] = await sql.unsafe(`select split_part(pg_read_file('postmaster.pid'), E'\\n', 1) as pid`)
  await sql.close()
  return row.pid
}

const chosenOf = (part: Part): readonly string[] => filesOf(part).filter((file) => has('--files', file))
const parts = [...inOrder, ...beside].filter((part) => has('--only', part.name) && chosenOf(part).length > 0)
const program = parts.some((part) => part.program) ? await programForTests() : undefined
const database = parts.some((part) => part.database) ? await templateForTests() : undefined
const server = database === undefined ? undefined : await serverPid(database.url)
const line = (seconds: number, ofDatabase: number, what: string) =>
  console.log(
    `${seconds.toFixed(1).padStart(8)} s ${ofDatabase.toFixed(1).padStart(8)} s of PostgreSQL  ${what}`,
  )

let failed = 0
try {
  for (const part of parts) {
    let [sum, sumOfDatabase] = [0, 0]
    for (const file of chosenOf(part)) {
      const before = server === undefined ? 0 : secondsOfServer(server)
      const child = Bun.spawn([process.execPath, 'test', `./${file}`], {
        cwd: root,
        env: {
          ...process.env,
          ...(part.database && database ? { DATABASE_TEST_TEMPLATE: database.url } : {}),
          ...(part.program && program ? { TEST_PROGRAM: program.path } : {}),
        },
        stdout: 'ignore',
        stderr: 'ignore',
      })
      const isGood = (await child.exited) === 0
      if (!isGood) failed++
      const ofDatabase = server === undefined ? 0 : secondsOfServer(server) - before
      const seconds = Number(child.resourceUsage()?.cpuTime.total ?? 0) / 1_000_000
      sum += seconds
      sumOfDatabase += ofDatabase
      line(seconds, ofDatabase, isGood ? file : `${file} (failed)`)
    }
    line(sum, sumOfDatabase, `all of ${part.name}`)
  }
} finally {
  await database?.stop()
  program?.stop()
}
process.exit(failed === 0 ? 0 : 1)
