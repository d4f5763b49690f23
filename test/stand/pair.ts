/** Two PostgreSQL under Patroni with a synchronous standby, and HAProxy in front, as an operator sets them up. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../free-port.ts'
import { until } from '../until.ts'
import { killTree, type Program, type Programs } from './programs.ts'

/** After so long a primary that is silent has lost its place: Patroni's least. */
export const TTL_SECONDS = 20
const WAIT_SECONDS = 2
const RETRY_SECONDS = 3
/** Room for the ledger of a run and its log. */
const DISK_MB = 700

export type Member = {
  readonly name: string
  readonly disk: string
  readonly patroni: Program
  /** The postmaster, if it runs. */
  readonly postmaster: () => number | undefined
  /** Kills Patroni and PostgreSQL at once, as the loss of the machine does. */
  lose(): Promise<void>
}

export type Pair = {
  /** Where HAProxy listens. */
  readonly port: number
  readonly haproxy: Program
  readonly members: readonly Member[]
  primary(): Promise<Member>
  standby(): Promise<Member>
  /** Whether one leads and the other confirms its commits. */
  isWhole(): Promise<boolean>
  /** Patroni's own change of places. */
  switchOver(): Promise<void>
}

export type Etcd = { readonly program: Program; readonly port: number }

export const startEtcd = async (programs: Programs): Promise<Etcd> => {
  const [port, peers] = [await freePort(), await freePort()]
  const [client, peer] = [`http://127.0.0.1:${port}`, `http://127.0.0.1:${peers}`]
  const data = programs.ownFolder('etcd')
  const program = programs.start({
    name: 'etcd-server',
    owned: true,
    args: [
      ...['etcd', '--name', 'one', '--data-dir', join(data, 'data'), '--initial-cluster', `one=${peer}`],
      ...['--listen-client-urls', client, '--advertise-client-urls', client],
      ...['--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer],
    ],
  })
  return { program, port }
}

type Ports = { readonly sql: number; readonly rest: number }

/** Patroni's file of a member; JSON is YAML. */
const patroniFile = (cell: string, name: string, disk: string, bin: string, etcd: number, ports: Ports) => ({
  scope: cell,
  name,
  restapi: { listen: `127.0.0.1:${ports.rest}`, connect_address: `127.0.0.1:${ports.rest}` },
  etcd3: { host: `127.0.0.1:${etcd}` },
  bootstrap: {
    dcs: {
      ttl: TTL_SECONDS,
      loop_wait: WAIT_SECONDS,
      retry_timeout: RETRY_SECONDS,
      synchronous_mode: true,
      failsafe_mode: true,
      postgresql: {
        use_pg_rewind: true,
        parameters: {
          max_connections: 60,
          max_wal_size: '128MB',
          min_wal_size: '64MB',
          wal_keep_size: '64MB',
        },
      },
    },
    initdb: [{ encoding: 'UTF8' }, { locale: 'C.UTF-8' }, 'data-checksums'],
  },
  postgresql: {
    listen: `127.0.0.1:${ports.sql}`,
    connect_address: `127.0.0.1:${ports.sql}`,
    data_dir: join(disk, 'data'),
    bin_dir: bin,
    pgpass: join(disk, 'pgpass'),
    pg_hba: [
      'local all all trust',
      'host all all 127.0.0.1/32 trust',
      'host replication all 127.0.0.1/32 trust',
    ],
    authentication: {
      superuser: { username: 'postgres', password: 'stand' },
      replication: { username: 'replicator', password: 'stand' },
      rewind: { username: 'rewinder', password: 'stand' },
    },
    parameters: { unix_socket_directories: disk },
  },
})

const haproxyFile = (port: number, members: readonly (Ports & { readonly name: string })[]): string => `
global
  maxconn 500
defaults
  mode tcp
  timeout connect 2s
  timeout client 1h
  timeout server 1h
  timeout check 1s
listen primary
  bind 127.0.0.1:${port}
  option httpchk OPTIONS /primary
  http-check expect status 200
  default-server inter 1s fall 2 rise 1 on-marked-down shutdown-sessions
${members.map(({ name, sql, rest }) => `  server ${name} 127.0.0.1:${sql} check port ${rest}`).join('\n')}
`

const startMember = (programs: Programs, cell: string, name: string, etcd: number, ports: Ports): Member => {
  const disk = programs.ownFolder(name, DISK_MB)
  const file = join(programs.folder, `${name}.yaml`)
  writeFileSync(file, JSON.stringify(patroniFile(cell, name, disk, programs.bin, etcd, ports)))
  const patroni = programs.start({ name: `patroni-${name}`, owned: true, args: ['patroni', file] })
  const noted = join(disk, 'data', 'postmaster.pid')
  const postmaster = () =>
    existsSync(noted) ? Number(readFileSync(noted, 'utf8').split('\n')[0]) || undefined : undefined
  programs.also(postmaster)
  const lose = async (): Promise<void> => {
    const killed = patroni.kill()
    killTree(postmaster() ?? 0)
    await killed
  }
  return { name, disk, patroni, postmaster, lose }
}

type Seen = { readonly name: string; readonly role: string; readonly state: string }

export const startPair = async (programs: Programs, cell: string, etcd: number): Promise<Pair> => {
  const both = await Promise.all(
    ['a', 'b'].map(async (one) => ({ name: `${cell}${one}`, sql: await freePort(), rest: await freePort() })),
  )
  const members = both.map((ports) => startMember(programs, cell, ports.name, etcd, ports))
  const port = await freePort()
  const file = join(programs.folder, `haproxy-${cell}.cfg`)
  writeFileSync(file, haproxyFile(port, both))
  const haproxy = programs.start({ name: `haproxy-${cell}`, args: ['haproxy', '-db', '-f', file] })
  /** What the first Patroni that answers says of the members. */
  const seen = async (): Promise<readonly Seen[]> => {
    for (const { rest } of both) {
      const signal = AbortSignal.timeout(5_000)
      const answer = await fetch(`http://127.0.0.1:${rest}/cluster`, { signal }).catch(() => undefined)
      if (answer?.ok) return ((await answer.json()) as { members: Seen[] }).members
    }
    return []
  }
  const withRole = async (role: string): Promise<Member> => {
    const name = (await seen()).find((one) => one.role === role)?.name
    const member = members.find((one) => one.name === name)
    if (member === undefined) throw new Error(`${cell} has no ${role}`)
    return member
  }
  return {
    port,
    haproxy,
    members,
    primary: () => withRole('leader'),
    standby: () => withRole('sync_standby'),
    isWhole: async () => {
      const roles = (await seen())
        .filter(({ state }) => /running|streaming/.test(state))
        .map(({ role }) => role)
      return roles.includes('leader') && roles.includes('sync_standby')
    },
    switchOver: async () => {
      const [leader, candidate] = [(await withRole('leader')).name, (await withRole('sync_standby')).name]
      const { rest } = both.find(({ name }) => name === leader) ?? { rest: 0 }
      const body = JSON.stringify({ leader, candidate })
      const answer = await fetch(`http://127.0.0.1:${rest}/switchover`, { method: 'POST', body })
      if (!answer.ok) throw new Error(`the switchover was refused: ${await answer.text()}`)
    },
  }
}

/** Waits until both have their places. */
export const untilWhole = (pair: Pair): Promise<void> => until(() => pair.isWhole(), 250)
