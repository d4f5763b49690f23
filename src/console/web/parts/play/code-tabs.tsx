/** Programs that do the same, one a tab. */
import { Tabs } from '@mantine/core'
import { Code } from '../ui.tsx'
import type { Program } from './programs.ts'

export const CodeTabs = ({ programs }: { programs: readonly Program[] }) => (
  <Tabs defaultValue={programs[0]?.name ?? ''} keepMounted={false}>
    <Tabs.List>
      {programs.map(({ name }) => (
        <Tabs.Tab key={name} value={name}>
          {name}
        </Tabs.Tab>
      ))}
    </Tabs.List>
    {programs.map(({ name, text }) => (
      <Tabs.Panel key={name} value={name} pt="sm">
        <Code text={text} name={`program for ${name}`} />
      </Tabs.Panel>
    ))}
  </Tabs>
)
