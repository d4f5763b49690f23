/**
 * The files in deploy/ are sound: by the tools of their field where this machine has them, and always against the code
 * they name.
 */
import { afterAll, expect, test } from 'bun:test'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative, resolve } from 'node:path'
import { parse } from 'yaml'
import { targets } from '../../scripts/release/executables.ts'
import { readConfig } from '../../src/cli/config/config.ts'
import { parseConfigFile } from '../../src/cli/config/config-file.ts'
import { onceFile } from '../../src/cli/run/shown-once.ts'
import { settings } from '../../src/settings/index.ts'
import { readSettings, rowsOf } from '../../src/settings/setting.ts'
import { vendors } from '../../src/vendors/index.ts'

const deploy = resolve(import.meta.dir, '../../deploy')
const text = (name: string): string => readFileSync(join(deploy, name), 'utf8')
const folder = mkdtempSync(join(tmpdir(), 'turnpike-deploy-'))
afterAll(() => rmSync(folder, { recursive: true }))

const known = new Set([
  ...Object.values(settings).flatMap((group) => rowsOf(group).map(({ name }) => name)),
  ...vendors.map(({ keyVariable }) => keyVariable),
])
const { drainMs, port } = readSettings(settings.server, {})

/** A program of this machine, or undefined where it has none. */
const tool = (name: string): string | undefined => Bun.which(name) ?? undefined

const output = (...command: string[]) => {
  const { exitCode, stdout, stderr } = Bun.spawnSync(command)
  return { exitCode, out: stdout.toString(), errors: stderr.toString() }
}

test('the unit: systemd takes it and finds it closed; it waits as long as calls may run', () => {
  const unit = text('turnpike.service')
  expect(Number(/^TimeoutStopSec=(\d+)$/m.exec(unit)?.[1]) * 1_000).toBeGreaterThan(drainMs)
  const analyze = tool('systemd-analyze')
  if (analyze === undefined) return
  const path = join(folder, 'turnpike.service')
  const program = resolve(import.meta.dir, '../../bin/turnpike')
  writeFileSync(path, unit.replace('/usr/local/bin/turnpike serve', `${program} serve`))
  expect(output(analyze, 'verify', path)).toEqual({ exitCode: 0, out: '', errors: '' })
  const judged = output(analyze, 'security', '--offline=true', '--no-pager', path)
  expect(Number(/exposure level for \S+: ([\d.]+)/.exec(judged.out)?.[1])).toBeLessThan(2)
})

test('a command beside the unit runs as its user, in its folder, with its environment', () => {
  const unit = text('turnpike.service')
  const page = readFileSync(resolve(deploy, '../docs/commands.md'), 'utf8')
  const line = /`systemd-run ([^`]+)`/.exec(page)?.[1] ?? ''
  const properties = [...line.matchAll(/--property=(\S+)/g)].map(([, one = '']) => one)
  const [start] = /\/\S+turnpike\b/.exec(line.split('environment ')[1] ?? '') ?? []
  expect(unit).toContain(`ExecStart=${start} serve\n`)
  for (const one of properties.filter((one) => !/^(User|WorkingDirectory)=/.test(one)))
    expect(unit).toContain(`${one}\n`)
  // A dynamic user has the name of its unit.
  expect(properties).toContain('User=turnpike')
  expect(properties).toContain('WorkingDirectory=/var/lib/turnpike')
  const analyze = tool('systemd-analyze')
  if (analyze === undefined) return
  const path = join(folder, 'command.service')
  const program = resolve(import.meta.dir, '../../bin/turnpike')
  writeFileSync(path, `[Service]\nType=oneshot\nExecStart=${program} key list\n${properties.join('\n')}\n`)
  expect(output(analyze, 'verify', path)).toEqual({ exitCode: 0, out: '', errors: '' })
})

test('the compose file: its settings are ours, its ports and waits fit, and the root cannot be written', () => {
  const { services, volumes } = parse(text('compose.yaml'))
  const { turnpike, database } = services
  expect(Object.keys(turnpike.environment).filter((name) => !known.has(name))).toEqual([])
  expect(turnpike.ports).toEqual([`127.0.0.1:${port}:${port}`])
  expect(Number.parseInt(turnpike.stop_grace_period, 10) * 1_000).toBeGreaterThan(drainMs)
  expect(turnpike).toMatchObject({ read_only: true, cap_drop: ['ALL'] })
  const address = new URL(turnpike.environment.DATABASE_URL.replace(/\$\{.*?\}/, 'password'))
  expect([address.username, address.hostname, address.pathname]).toEqual([
    database.environment.POSTGRES_USER,
    'database',
    `/${database.environment.POSTGRES_DB}`,
  ])
  const mounted = Object.values<any>(services).flatMap((one) =>
    one.volumes.map((entry: string) => entry.split(':')[0]),
  )
  expect(mounted.filter((name) => !name.startsWith('./')).sort()).toEqual(Object.keys(volumes).sort())
  expect(mounted.filter((name) => name.startsWith('./') && !existsSync(join(deploy, name)))).toEqual([])
})

/** The lines `NAME=value` of a file of settings. */
const valuesIn = (name: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    [...text(name).matchAll(/^([A-Z_]+)=(.*)$/gm)].map(([, key = '', value = '']) => [key, value]),
  )

test('what Compose is given: the example names each variable of the file, and a server takes what comes of it', () => {
  const given = valuesIn('compose.env.example')
  const asked = [...text('compose.yaml').matchAll(/\$\{([A-Z_]+)/g)].map(([, name = '']) => name)
  expect(Object.keys(given).toSorted()).toEqual([...new Set(asked)].toSorted())
  const { turnpike } = parse(text('compose.yaml')).services
  const [folder] = turnpike.volumes.flatMap(
    (entry: string) => /^\.\/(\w+):\/etc\/turnpike:ro$/.exec(entry)?.[1] ?? [],
  )
  expect(turnpike.environment.TURNPIKE_CONFIG).toBe('/etc/turnpike/turnpike.yaml')
  const file = parseConfigFile(text(`${folder}/turnpike.yaml`), 'turnpike.yaml', {})
  const filled = Object.entries<string>(turnpike.environment).map(([name, value]) => [
    name,
    value.replaceAll(/\$\{([A-Z_]+)[^}]*\}/g, (_, key) => given[key] || 'a-value-of-letters'),
  ])
  const { publicUrl, gateway } = readConfig(Object.fromEntries(filled), file)
  expect([publicUrl, gateway.trustedProxies.length]).toEqual(['https://gate.example.com', 1])
})

/** What a service of the compose file sees: paths inside, each with its file of deploy/. */
const filesOf = (service: { readonly volumes: readonly string[] }): ReadonlyMap<string, string> =>
  new Map(
    service.volumes
      .map((entry) => entry.split(':'))
      .flatMap(([from = '', to = '', rights]) =>
        from.startsWith('./') ? [[to, rights === 'ro' ? from : 'may be written']] : [],
      ),
  )

test('Prometheus and Grafana of the compose file: only when asked for, on this machine, and each finds the next', () => {
  const { services, secrets } = parse(text('compose.yaml'))
  // Compose copies such a secret into the container, and refuses to where the root cannot be written.
  const copied = Object.keys(secrets).filter((name) => secrets[name].environment !== undefined)
  for (const { read_only, secrets: seen = [] } of Object.values<any>(services))
    for (const { source } of seen)
      expect([read_only === true, copied.includes(source)]).not.toEqual([true, true])
  const { turnpike, prometheus, grafana } = services
  for (const service of [prometheus, grafana]) {
    expect(service.profiles).toEqual(['watch'])
    expect(service.cap_drop).toEqual(['ALL'])
    expect(service.image).toMatch(/:v?\d+\.\d+\.\d+$/)
    expect(service.ports.filter((one: string) => !one.startsWith('127.0.0.1:'))).toEqual([])
  }
  // The services that start without the profile need nothing of it.
  expect(Object.keys(turnpike.depends_on)).toEqual(['database'])
  const config = prometheus.command[0].replace('--config.file=', '')
  const files = filesOf(prometheus)
  expect(files.get(config)).toBe('./prometheus/prometheus.yaml')
  const { scrape_configs, rule_files } = parse(text('prometheus/prometheus.yaml'))
  const [scrape] = scrape_configs
  expect(scrape.static_configs[0].targets).toEqual([`turnpike:${port}`])
  for (const rules of rule_files)
    expect(files.get(join(dirname(config), rules))).toBe(`./prometheus/${rules}`)
  const [token] = prometheus.secrets
  expect(token.target).toBe(scrape.authorization.credentials_file)
  expect(turnpike.environment[secrets[token.source].environment]).toMatch(/^\$\{METRICS_TOKEN:-\}$/)
  const shown = filesOf(grafana)
  const [source] = parse(text('grafana/datasource.yaml')).datasources
  expect(shown.get('/etc/grafana/provisioning/datasources/turnpike.yaml')).toBe('./grafana/datasource.yaml')
  expect([source.type, source.isDefault, source.url]).toEqual([
    'prometheus',
    true,
    `http://prometheus:${prometheus.ports[0].split(':')[2]}`,
  ])
  const [{ options }] = parse(text('grafana/dashboards.yaml')).providers
  expect(shown.get('/etc/grafana/provisioning/dashboards/turnpike.yaml')).toBe('./grafana/dashboards.yaml')
  const home = grafana.environment.GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH
  expect([dirname(home), shown.get(home)]).toEqual([options.path, './grafana/turnpike.json'])
  // Its panels ask whatever Prometheus is there.
  const { templating } = JSON.parse(text('grafana/turnpike.json'))
  expect(templating.list[0]).toMatchObject({ name: 'datasource', type: 'datasource', query: source.type })
})

test('what a document runs inside the image is there, and so is the file with the first key', () => {
  const docs = resolve(deploy, '../docs')
  const pages = (readdirSync(docs, { recursive: true }) as string[]).filter((name) => name.endsWith('.md'))
  const run = pages.flatMap((name) =>
    [
      ...readFileSync(join(docs, name), 'utf8').matchAll(
        / exec (?:-\S+ )*turnpike(?:-\d)?(?: --)? ([^\s`]+)/g,
      ),
    ].map(([, program]) => program),
  )
  // It has nothing but this program and its libraries.
  expect(new Set(run)).toEqual(new Set(['/usr/local/bin/turnpike']))
  const [, folder = ''] = /^WORKDIR (\S+)$/m.exec(text('Containerfile')) ?? []
  const placeWith = (environment: Readonly<Record<string, string>>) =>
    join(folder, relative(process.cwd(), onceFile(readConfig(environment, {}))))
  const page = readFileSync(join(docs, 'commands.md'), 'utf8')
  expect(page).toContain(`\`docker cp turnpike:${placeWith({})} .\``)
  const compose = placeWith({ DATABASE_URL: 'postgres://turnpike@database/turnpike' })
  expect(page).toContain(`\`docker compose -f deploy/compose.yaml cp turnpike:${compose} .\``)
  expect(page).toContain(`\`${placeWith({}).replace(folder, '/var/lib/turnpike')}\``)
})

test('docker takes the compose file, with and without the profile', () => {
  const docker = tool('docker')
  if (docker === undefined || output(docker, 'compose', 'version').exitCode !== 0) return
  const services = (...profile: string[]) => {
    const { out, errors } = output(
      ...['env', 'POSTGRES_PASSWORD=p', 'METRICS_TOKEN=t', docker, 'compose'],
      ...['-f', join(deploy, 'compose.yaml'), ...profile, 'config', '--services'],
    )
    return errors + out.trim().split('\n').sort().join(' ')
  }
  expect(services()).toBe('database turnpike')
  expect(services('--profile', 'watch')).toBe('database grafana prometheus turnpike')
})

test('the images: each stage is there, copies what a release makes, and runs without rights', () => {
  const lines = text('Containerfile')
    .replaceAll(/^#.*\n/gm, '')
    .replaceAll(/\\\n/g, ' ')
    .split('\n')
    .filter((line) => line !== '')
  const words = new Set(lines.map((line) => line.split(' ')[0] ?? ''))
  const allowed =
    'FROM ARG COPY RUN ENV USER WORKDIR VOLUME EXPOSE STOPSIGNAL HEALTHCHECK ENTRYPOINT CMD'.split(' ')
  expect([...words].filter((word) => !allowed.includes(word))).toEqual([])
  const stages = lines.flatMap((line) => /^FROM \S+ AS (\S+)$/.exec(line)?.[1] ?? [])
  expect(stages).toEqual(['package', 'parts', 'file'])
  for (const line of lines)
    for (const [, from = ''] of line.matchAll(/--from=(\S+)/g)) expect(stages).toContain(from)
  const made = [...Object.keys(targets).map((name) => `turnpike-${name}`), 'turnpike-0.1.0.tgz']
  const copied = lines
    .filter((line) => /^COPY (?!--from)/.test(line))
    .flatMap((line) => line.split(' ').slice(1, -1))
  for (const pattern of copied)
    expect([pattern, made.some((name) => new Bun.Glob(pattern).match(name))]).toEqual([pattern, true])
  const ends = lines
    .join('\n')
    .split(/^FROM /m)
    .filter((stage) => stage.includes('ENTRYPOINT'))
  expect(ends).toHaveLength(2)
  for (const stage of ends) {
    expect(stage).toContain('USER 65532:65532')
    expect(stage).toContain(`EXPOSE ${port}\n`)
    expect(stage).toMatch(/HEALTHCHECK .* CMD \["[\w/]*turnpike", "ready"\]/)
  }
})

test('no file of deploy is left out here', () => {
  // The folders of Grafana and Prometheus are for test/server/dashboard.test.ts, that of Kubernetes for kubernetes.test.ts.
  expect(readdirSync(deploy).sort()).toEqual([
    'Containerfile',
    'compose.env.example',
    'compose.yaml',
    'grafana',
    'kubernetes',
    'prometheus',
    'turnpike',
    'turnpike.service',
  ])
})
