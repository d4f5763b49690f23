/**
 * The dashboard and the alerts ask for metrics that exist: Prometheus' own grammar reads every query, and we compare
 * its names with the metrics.
 */
import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parser } from '@prometheus-io/lezer-promql'
import { parse } from 'yaml'
import { type Family, families, sampleNames } from '../../src/metrics/families.ts'

const deploy = resolve(import.meta.dir, '../../deploy')
const text = (name: string): string => readFileSync(join(deploy, name), 'utf8')

type Panel = { readonly title: string; readonly targets: readonly { readonly expr: string }[] }
type Rule = {
  readonly alert: string
  readonly expr: string
  readonly labels: { readonly severity: string }
  readonly annotations: { readonly summary: string }
}

const panels: readonly Panel[] = JSON.parse(text('grafana/turnpike.json')).panels
const rules: readonly Rule[] = parse(text('prometheus/alerts.yaml')).groups.flatMap(
  (group: { rules: readonly Rule[] }) => group.rules,
)
/** What Grafana puts in place of its variables. */
const filled = (expr: string): string =>
  expr.replaceAll('$__rate_interval', '5m').replaceAll('$job', 'turnpike')

const queries = [
  ...panels.flatMap(({ title, targets }) => targets.map(({ expr }) => [title, filled(expr)] as const)),
  ...rules.map(({ alert, expr }) => [alert, expr] as const),
]

/** The names in a query: metrics and labels, or that it is no query. */
const namedIn = (expr: string) => {
  const found = { metrics: [] as string[], labels: [] as string[], broken: false }
  parser.parse(expr).iterate({
    enter: ({ type, from, to, node }) => {
      const said = expr.slice(from, to)
      if (type.isError) found.broken = true
      if (type.name === 'Identifier' && node.parent?.name === 'VectorSelector') found.metrics.push(said)
      if (type.name === 'LabelName') found.labels.push(said)
    },
  })
  return found
}

/** By the name of each sample, the labels it has; those of the scrape itself are on all. */
const labelsOf = new Map(
  Object.values<Family>(families).flatMap((family) =>
    sampleNames(family).map((name) => [name, new Set([...family.labels, 'le', 'job', 'instance'])] as const),
  ),
)
/** Metrics of Prometheus itself. */
labelsOf.set('up', new Set(['job', 'instance']))

const wrongIn = (expr: string): string[] => {
  const { metrics, labels, broken } = namedIn(expr)
  if (broken || metrics.length === 0) return ['is no query']
  const unknown = metrics.filter((name) => !labelsOf.has(name))
  const without = labels.filter((label) => !metrics.some((name) => labelsOf.get(name)?.has(label)))
  return [...unknown, ...without]
}

test('every query of the dashboard and the alerts asks for a metric and labels that exist', () => {
  expect(queries.length).toBeGreaterThan(35)
  expect(queries.flatMap(([title, expr]) => wrongIn(expr).map((what) => `${title}: ${what}`))).toEqual([])
})

test('a query of what there is not, or that is none, is caught', () => {
  expect(wrongIn('sum by (vendor) (rate(turnpike_calls_total[5m]))')).toEqual([])
  expect(wrongIn('rate(turnpike_call_total[5m])')).toEqual(['turnpike_call_total'])
  expect(wrongIn('sum by (wallet) (rate(turnpike_calls_total[5m]))')).toEqual(['wallet'])
  expect(wrongIn('rate(turnpike_calls_total[5m]')).toEqual(['is no query'])
})

test('each panel and each alert has a name of its own, and an alert says what to do', () => {
  for (const names of [panels.map(({ title }) => title), rules.map(({ alert }) => alert)])
    expect(new Set(names).size).toBe(names.length)
  expect(rules.filter(({ annotations }) => annotations.summary.length < 20)).toEqual([])
})

test('Prometheus is told to read the alerts beside its file, with the token', () => {
  const { scrape_configs, rule_files } = parse(text('prometheus/prometheus.yaml'))
  expect(rule_files).toEqual(['alerts.yaml'])
  expect(scrape_configs[0].authorization.type).toBe('Bearer')
})

test('the runbook has a section for each alert, in its order and with its severity, and names metrics that exist', () => {
  const [, ...sections] = readFileSync(resolve(deploy, '../docs/runbook.md'), 'utf8').split(/^## /m)
  const headed = sections.map((section) => /^(\w+)\n\n`(\w+)`\. /.exec(section)?.slice(1))
  expect(headed).toEqual(rules.map(({ alert, labels }) => [alert, labels.severity]))
  const named = sections.flatMap((section) => section.match(/turnpike_\w+/g) ?? [])
  expect(named.filter((name) => !labelsOf.has(name) && !labelsOf.has(`${name}_bucket`))).toEqual([])
})
