/** The organisation's keys: searched by the query of the page, made in a dialog. */

import { Button, Stack } from '@mantine/core'
import { Search } from '../parts/forms/field.tsx'
import { KeyList } from '../parts/keys/key-list.tsx'
import { NewKey } from '../parts/keys/new-key.tsx'
import { Aside, Empty, PageHead, Panel } from '../parts/ui.tsx'
import { useMay } from '../parts/use-may.ts'
import { useView } from '../parts/use-view.ts'

export const Keys = () => {
  const { query, show } = useView('/keys')
  const search = query.search ?? ''
  const mayCreate = useMay('keys', 'keys_own')
  return (
    <>
      <PageHead
        title="Keys"
        about="Each agent or program gets a key of its own, with caps that hold to the nano-dollar."
      >
        {mayCreate && <Button onClick={() => show({ new: 'key' })}>Create key</Button>}
      </PageHead>
      <Stack>
        <Search
          of="keys"
          by="label, prefix or id"
          value={search}
          onSearch={(search) => show({ search, after: undefined })}
        />
        <Panel>
          <KeyList
            which="own"
            search={search}
            after={query.after}
            onPage={(after) => show({ after })}
            empty={
              search === '' ? (
                <Empty title="No keys yet">
                  Create one, give it a cap, and paste the snippet into your client.
                </Empty>
              ) : (
                <Empty title="No key matches">Nothing is called “{search}”.</Empty>
              )
            }
          />
        </Panel>
        <Aside>
          Amounts include what is charged and not yet invoiced, and what the keys below a key spent; point at
          one for its exact value.
        </Aside>
      </Stack>
      <NewKey opened={query.new === 'key'} onClose={() => show({ new: undefined })} />
    </>
  )
}
