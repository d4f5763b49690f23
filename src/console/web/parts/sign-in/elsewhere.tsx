/** Organisations of the person in other cells: choosing one leads into that cell's console, signed in. */
import { Button } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import type { ElsewhereShown } from '../../../schema/cells.ts'
import { ask, reading } from '../api.ts'
import { Aside, Failed, Loading } from '../ui.tsx'

/** Brings the form there as a page does, so that the browser says which page it comes from, as this page's policy does not. */
const bring = ({ to, hand_over }: { to: string; hand_over: string }): void => {
  const policy = document.createElement('meta')
  Object.assign(policy, { name: 'referrer', content: 'origin' })
  document.head.append(policy)
  const form = document.createElement('form')
  Object.assign(form, { method: 'post', action: to, hidden: true })
  const field = document.createElement('input')
  Object.assign(field, { name: 'hand_over', value: hand_over })
  form.append(field)
  document.body.append(form)
  form.submit()
}

const useHandOver = () =>
  useMutation({
    mutationFn: (to: { cell: string; organisation: string }) =>
      ask<{ to: string; hand_over: string }>('POST', '/session/hand-over', to),
    onSuccess: bring,
  })

const Cell = ({ name, away, organisations }: ElsewhereShown['cells'][number]) => {
  const handOver = useHandOver()
  if (away) return <Aside px="xs">Cell {name} does not answer; its organisations are not shown.</Aside>
  if (organisations.length === 0) return null
  return (
    <>
      <Aside px="xs">Cell {name}</Aside>
      {organisations.map(({ id, name: called, role }) => (
        <Button
          key={id}
          variant="subtle"
          size="xs"
          justify="flex-start"
          loading={handOver.isPending && handOver.variables.organisation === id}
          onClick={() => handOver.mutate({ cell: name, organisation: id })}
        >
          {called} ({role})
        </Button>
      ))}
      <Failed error={handOver.error} />
    </>
  )
}

/** What the other cells answer; a part of the menu, so that they are asked when it is opened. */
export const Elsewhere = () => {
  const { data, error } = useQuery(reading<ElsewhereShown>('/session/elsewhere'))
  if (error !== null) return <Failed error={error} />
  if (data === undefined) return <Loading />
  if (!data.proved)
    return (
      <Aside px="xs">
        Organisations of other cells are shown once your e-mail address is proved: sign in by a link that was
        mailed to you, or that the operator gave you.
      </Aside>
    )
  return data.cells.map((cell) => <Cell key={cell.name} {...cell} />)
}
