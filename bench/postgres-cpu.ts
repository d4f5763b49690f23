/** The processor time of a PostgreSQL on this machine: of all its processes, also those that have ended. */
import { readdirSync, readFileSync } from 'node:fs'

const TICKS_A_SECOND = 100

/** Seconds so far. */
export type DatabaseCpu = () => number

/** Fields of a process behind its name; undefined when it has ended meanwhile. */
const fieldsOf = (pid: string | number): readonly number[] | undefined => {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /, '')
      .split(' ')
      .map(Number)
  } catch {
    return undefined
  }
}

const PARENT = 1
const OWN = [11, 12]
const ENDED_CHILDREN = [13, 14]

/** The processor of the server at this address, which must run on this machine. */
export const postgresCpu = async (url: string): Promise<DatabaseCpu> => {
  const sql = new Bun.SQL(url, { max: 1 })
  const [{ pid }] = await sql.unsafe('select pg_backend_pid() as pid')
  const parent = fieldsOf(pid)?.[PARENT]
  await sql.close()
  if (parent === undefined) throw new Error('the PostgreSQL does not run on this machine')
  const ticks = (of: string | number, ...which: number[]): number => {
    const fields = fieldsOf(of)
    return which.reduce((sum, at) => sum + (fields?.[at] ?? 0), 0)
  }
  return () =>
    readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name) && fieldsOf(name)?.[PARENT] === parent)
      .reduce((sum, name) => sum + ticks(name, ...OWN), ticks(parent, ...OWN, ...ENDED_CHILDREN)) /
    TICKS_A_SECOND
}
