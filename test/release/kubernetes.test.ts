/**
 * The manifests as docs/deploy.md says to apply them: in that order, each finds the objects that it names, and a server takes
 * the settings of the pods.
 */
import { expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parse, parseAllDocuments } from 'yaml'
import { readConfig } from '../../src/cli/config/config.ts'
import { parseConfigFile } from '../../src/cli/config/config-file.ts'
import { routes } from '../../src/http/routes.ts'

const root = resolve(import.meta.dir, '../..')
const folder = join(root, 'deploy/kubernetes')
const text = (name: string): string => readFileSync(join(folder, name), 'utf8')
const deployed = readFileSync(join(root, 'docs/deploy.md'), 'utf8')
const prometheus = parse(readFileSync(join(root, 'deploy/prometheus/kubernetes.yaml'), 'utf8'))

const kustomization = parse(text('kustomization.yaml'))
const objects: any[] = kustomization.resources.flatMap((name: string) =>
  parseAllDocuments(text(name)).map((one) => one.toJS()),
)
const oneOf = (kind: string, name = 'turnpike'): any => {
  const found = objects.filter((one) => one.kind === kind && one.metadata.name === name)
  expect([kind, found.length]).toEqual([kind, 1])
  return found[0]
}
const pods = oneOf('StatefulSet')
const { template, selector, serviceName, volumeClaimTemplates } = pods.spec
const [container] = template.spec.containers
const values = (lines: readonly string[]): Readonly<Record<string, string>> =>
  Object.fromEntries(lines.map((line) => line.split(/=(.*)/).slice(0, 2)))
const settings = values(kustomization.configMapGenerator[0].literals)
const secret = values(text('turnpike.env.example').match(/^[A-Z_]+=.*$/gm) ?? [])

test('nothing in the folder is left out, and no object is twice', () => {
  const others = ['kustomization.yaml', 'turnpike.env.example', 'vendors.yaml']
  expect(readdirSync(folder).sort()).toEqual([...kustomization.resources, ...others].sort())
  const names = objects.map(({ apiVersion, kind, metadata }) => `${apiVersion} ${kind} ${metadata.name}`)
  expect(names.sort()).toEqual([
    'apps/v1 StatefulSet turnpike',
    'networking.k8s.io/v1 Ingress turnpike',
    'policy/v1 PodDisruptionBudget turnpike',
    'v1 Namespace turnpike',
    'v1 Service turnpike',
    'v1 Service turnpike-pods',
  ])
})

test('each object finds what it names: maps, secret, pods, ports, volumes, image', () => {
  const maps = kustomization.configMapGenerator.map(({ name }: { name: string }) => name)
  const [map, kept] = container.envFrom
  expect([map.configMapRef.name, template.spec.volumes[0].configMap.name]).toEqual(maps)
  expect(kept.secretRef.name).toBe('turnpike')
  expect(template.metadata.labels).toEqual(selector.matchLabels)
  for (const [kind, name] of [
    ['Service', 'turnpike'],
    ['Service', serviceName],
    ['PodDisruptionBudget', 'turnpike'],
  ]) {
    const { spec } = oneOf(kind, name)
    expect(spec.selector.matchLabels ?? spec.selector).toEqual(selector.matchLabels)
    for (const { targetPort } of spec.ports ?? []) expect(targetPort).toBe(container.ports[0].name)
  }
  expect(container.ports).toEqual([{ name: 'http', containerPort: Number(settings.PORT) }])
  const there = [...template.spec.volumes, ...volumeClaimTemplates.map(({ metadata }: any) => metadata)]
  expect(container.volumeMounts.map(({ name }: any) => name).sort()).toEqual(
    there.map(({ name }) => name).sort(),
  )
  // Nodes pull it from somewhere, and a tag that moves would change a pod that restarts.
  const [image, ...more] = kustomization.images
  expect([image.name, more]).toEqual([container.image, []])
  expect(image.newName).toMatch(/^[\w.-]+\.[a-z]+\/[\w/-]+$/)
  expect(image.newTag).toMatch(/^\d+\.\d+\.\d+$/)
})

test('from outside: the Ingress leads to the service, under the address that results are told with', () => {
  const { tls, rules } = oneOf('Ingress').spec
  const host = new URL(settings.PUBLIC_URL ?? '').host
  expect([tls[0].hosts, rules.map((rule: any) => rule.host)]).toEqual([[host], [host]])
  const { name, port } = rules[0].http.paths[0].backend.service
  expect(oneOf('Service', name).spec.ports.map((one: any) => one.name)).toContain(port.name)
})

test('a server takes the settings of the pods, once the secret is filled in', () => {
  const filled = Object.entries(secret).map(([name, value]) => [name, value || `a-value-for-${name}`])
  const file = parseConfigFile(text('vendors.yaml'), 'vendors.yaml', {})
  expect(file).toEqual({ markup: '1' })
  const config = readConfig({ ...settings, ...Object.fromEntries(filled) }, file)
  expect([config.publicUrl, config.host, 'bucket' in config.assets.place]).toEqual([
    settings.PUBLIC_URL,
    '0.0.0.0',
    true,
  ])
  expect(config.gateway.trustedProxies).toHaveLength(1)
  // Each pod has a volume of its own, so a key that one of them was given would be in use on that one alone.
  expect([pods.spec.replicas, volumeClaimTemplates[0].spec.accessModes, config.vendorKeys]).toEqual([
    2,
    ['ReadWriteOnce'],
    undefined,
  ])
  expect(config.secret).toBeDefined()
  expect(config.watch.metricsToken).toBeDefined()
  const mounted = container.volumeMounts.find((one: any) => one.name === 'file').mountPath
  const [given] = container.env
  const [of] = kustomization.configMapGenerator[1].files
  expect([given.name, given.value]).toEqual(['TURNPIKE_CONFIG', join(mounted, of.split('=')[0])])
})

test('pods are asked at addresses that exist, end after their calls, and have no rights', () => {
  const paths = new Set(routes.map(({ path }) => path))
  for (const probe of ['startupProbe', 'readinessProbe', 'livenessProbe']) {
    const { path, port } = container[probe].httpGet
    expect([probe, paths.has(path), port]).toEqual([probe, true, 'http'])
  }
  expect(container.readinessProbe.httpGet.path).toBe('/readyz')
  const paused = container.lifecycle.preStop.sleep.seconds
  // Nobody is sent here any more when new calls are refused.
  const { periodSeconds, failureThreshold } = container.readinessProbe
  expect(paused).toBeGreaterThan(periodSeconds * failureThreshold)
  expect(template.spec.terminationGracePeriodSeconds).toBeGreaterThan(paused + Number(settings.DRAIN_SECONDS))
  expect(template.spec.securityContext).toMatchObject({
    runAsNonRoot: true,
    seccompProfile: { type: 'RuntimeDefault' },
  })
  expect(container.securityContext).toEqual({
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ['ALL'] },
  })
})

test('Prometheus finds each pod, also one that takes no calls', () => {
  const [scrape] = prometheus.scrape_configs
  const { clusterIP, publishNotReadyAddresses } = oneOf('Service', serviceName).spec
  expect([clusterIP, publishNotReadyAddresses]).toEqual(['None', true])
  expect(scrape.job_name).toBe('turnpike')
  expect(scrape.dns_sd_configs).toEqual([
    { names: [`${serviceName}.${kustomization.namespace}.svc`], type: 'A', port: Number(settings.PORT) },
  ])
})

test('the document has the steps in an order that works, with the names of the files', () => {
  const image = `${kustomization.images[0].newName}:${kustomization.images[0].newTag}`
  const steps = [
    `docker build -f deploy/Containerfile -t ${image} dist/release`,
    `docker push ${image}`,
    'cp deploy/kubernetes/turnpike.env.example deploy/kubernetes/turnpike.env',
    'kubectl apply --filename deploy/kubernetes/namespace.yaml',
    `kubectl --namespace ${kustomization.namespace} create secret generic ${container.envFrom[1].secretRef.name} --from-env-file=deploy/kubernetes/turnpike.env`,
    'kubectl apply --kustomize deploy/kubernetes',
    `kubectl --namespace ${kustomization.namespace} rollout status statefulset ${pods.metadata.name}`,
  ]
  const at = steps.map((step) => deployed.indexOf(`    ${step}\n`))
  expect(at.map((place) => place > 0)).toEqual(steps.map(() => true))
  expect(at).toEqual(at.toSorted((a, b) => a - b))
  expect([oneOf('Namespace').metadata.name, `${pods.metadata.name}-0`]).toEqual([
    kustomization.namespace,
    'turnpike-0',
  ])
})

test('kubectl builds them, with the names of what it generates', () => {
  const kubectl = Bun.which('kubectl')
  if (kubectl === null) return
  const { exitCode, stdout, stderr } = Bun.spawnSync([kubectl, 'kustomize', folder])
  expect([exitCode, stderr.toString()]).toEqual([0, ''])
  const built = parseAllDocuments(stdout.toString()).map((one) => one.toJS())
  const maps = built.filter(({ kind }) => kind === 'ConfigMap').map(({ metadata }) => metadata.name)
  expect(built).toHaveLength(objects.length + maps.length)
  const { spec } = built.find(({ kind }) => kind === 'StatefulSet').spec.template
  expect([spec.containers[0].envFrom[0].configMapRef.name, spec.volumes[0].configMap.name].sort()).toEqual(
    maps.sort(),
  )
  const { newName, newTag } = kustomization.images[0]
  expect(spec.containers[0].image).toBe(`${newName}:${newTag}`)
  for (const { kind, metadata } of built)
    expect([kind, metadata.namespace ?? metadata.name]).toEqual([kind, kustomization.namespace])
})
