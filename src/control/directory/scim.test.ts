/** A list of a directory costs linear time: each user is in a group, and each group has its part of them. */
import { expect, test } from 'bun:test'
import { mustBeLinear } from '../../../test/cpu-growth.ts'
import type { Resource } from '../../store/people/directory-port.ts'
import type { Acting } from '../act.ts'
import { whoIsCommand } from '../who.ts'
import { scimList } from './scim.ts'

const directoryOf = (n: number) => {
  const of = (kind: Resource['kind']): readonly Resource[] =>
    Array.from({ length: n }, (_none, at) => {
      const name = `${kind}${at}`
      const attributes = { userName: name, displayName: name }
      return {
        orgId: 'org_test',
        id: name,
        kind,
        name,
        active: true,
        attributes,
        createdAt: 0,
        changedAt: 0,
        version: 1,
      }
    })
  const members = Array.from({ length: n }, (_none, at) => ({ groupId: `Group${at}`, userId: `User${at}` }))
  return {
    resources: async ({ kind }: { readonly kind: Resource['kind'] }) => of(kind),
    groupMembers: async () => members,
  }
}

const list = (n: number, kind: Resource['kind']) => {
  const control = { store: { directory: directoryOf(n) } } as unknown as Acting['control']
  const place = { organisation: 'org_test', kind, base: 'https://here' }
  return scimList.does({ control, who: whoIsCommand('test') }, { ...place, startIndex: undefined, count: 2 })
}

test.each(['User', 'Group'] as const)('all of kind %s, each with what it belongs to', async (kind) => {
  const other = kind === 'User' ? 'Group' : 'User'
  const { totalResults, Resources } = await list(5, kind)
  expect([totalResults, Resources.length]).toEqual([5, 2])
  expect(Resources[1]?.[kind === 'User' ? 'groups' : 'members']).toEqual([
    { value: `${other}1`, display: `${other}1`, $ref: `https://here/${other}s/${other}1` },
  ])
  expect(await mustBeLinear((n) => list(n, kind), 500)).toBeLessThan(3)
})
