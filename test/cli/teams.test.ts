/** What groups of a directory give, set and read by the command. */
import { afterAll, expect, test } from 'bun:test'
import { endPrograms, runProgram, startProgram } from '../program.ts'
import { tempFolder } from '../temp-folder.ts'

afterAll(endPrograms)

test('groups of a directory are set row by row, read, and taken out', async () => {
  const home = await tempFolder('turnpike-teams-')
  await startProgram(home, {})
  const groups = (...words: string[]) => runProgram(home, {}, 'team', 'groups', ...words, '--json')
  const said = async (...words: string[]) => JSON.parse((await groups(...words)).out)
  const usual = { default_role: 'developer', groups: [] }
  expect(await said()).toEqual(usual)
  const made = await runProgram(home, {}, 'team', 'create', 'Red', '--budget', '5', '--json')
  const team = JSON.parse(made.out).id
  await said('--group', 'engineers', '--role', 'developer', '--team', team)
  const admins = { group: 'admins', role: 'admin', team: null, team_role: null }
  expect(await said('--group', 'admins', '--role', 'admin', '--others', 'none')).toEqual({
    default_role: null,
    groups: [{ group: 'engineers', role: 'developer', team, team_role: 'member' }, admins],
  })
  const month = async (...words: string[]) =>
    JSON.parse((await runProgram(home, {}, 'team', 'change', team, ...words, '--json')).out).monthly_cap_usd
  expect(String(await month('--monthly-cap', '2.5'))).toBe('2.5')
  expect(await month('--monthly-cap', 'none')).toBeNull()
  expect((await runProgram(home, {}, 'team', 'create', 'Blue')).code).toBe(1)
  expect((await groups('--group', 'x', '--team', 'nowhere')).code).toBe(1)
  expect((await groups('--group', 'x', '--role', 'owner')).code).toBe(1)
  expect(await said('--remove', 'engineers')).toEqual({ default_role: null, groups: [admins] })
})
