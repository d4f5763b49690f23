/**
 * The playground: a chat with one model or several side by side, and any other model through a form of its inputs, with a
 * short-lived capped key; each answer shows its cost.
 */
import { Button, Group, NativeSelect, Stack } from '@mantine/core'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { type Shown, useShown } from '../parts/api.ts'
import { ChatBench } from '../parts/play/chat-bench.tsx'
import { RunPanel } from '../parts/play/run-panel.tsx'
import { Empty, Failed, Loading, PageHead, Panel } from '../parts/ui.tsx'

type Models = Shown<'GET /models'>['data']

const choicesOf = (models: Models) =>
  [...new Set(models.map(({ category }) => category))].map((category) => ({
    group: category.replaceAll('_', ' '),
    items: models.filter((model) => model.category === category).map(({ id }) => id),
  }))

/** The fields for models, the first of which may be any. */
const places = ['Model', 'Beside it', 'And beside it', 'And beside that']

/** The models in the address that are sold, one of the others if there is none. */
const chosenOf = (models: Models, text = ''): Models => {
  const named = [...new Set(text.split(','))].flatMap((id) => models.find((one) => one.id === id) ?? [])
  const usual =
    models.find(({ id }) => id === 'local/echo-1') ??
    models.find(({ category }) => category === 'chat') ??
    models[0]
  return named.length === 0 ? (usual === undefined ? [] : [usual]) : named.slice(0, places.length)
}

/** The first model may be any; those beside it chat, as it does. */
const Chosen = ({ models, chosen }: { models: Models; chosen: Models }) => {
  const navigate = useNavigate()
  const ids = chosen.map(({ id }) => id)
  const show = (all: readonly string[]) =>
    void navigate({ to: '/playground', search: { model: all.join(',') }, replace: true })
  const chats = models.filter(({ category }) => category === 'chat')
  const more = chats.find(({ id }) => !ids.includes(id))
  return (
    <Group align="flex-end" gap="xs">
      {places.slice(0, ids.length).map((label, at) => (
        // The same field stays when another model is chosen in it, with the focus in it.
        <Group key={label} align="flex-end" gap={4} wrap="nowrap">
          <NativeSelect
            label={label}
            data={choicesOf(at === 0 ? models : chats)}
            value={ids[at] ?? ''}
            onChange={(event) => {
              const { value } = event.currentTarget
              const isChat = chats.some((one) => one.id === value)
              show(isChat ? ids.map((one, n) => (n === at ? value : one)) : [value])
            }}
            maw={320}
          />
          {at > 0 && (
            <Button
              variant="default"
              px="sm"
              aria-label={`Remove ${ids[at]}`}
              onClick={() => show(ids.filter((_, n) => n !== at))}
            >
              ×
            </Button>
          )}
        </Group>
      ))}
      {chosen[0]?.category === 'chat' && more !== undefined && ids.length < places.length && (
        <Button variant="default" onClick={() => show([...ids, more.id])}>
          Compare
        </Button>
      )}
    </Group>
  )
}

const Bench = ({ models }: { models: Models }) => {
  const query: { model?: string } = useSearch({ strict: false })
  const chosen = chosenOf(models, query.model)
  const [first] = chosen
  if (first === undefined) return <Empty title="Nothing is sold here">This server has no model.</Empty>
  const ids = chosen.map(({ id }) => id)
  return (
    <Panel>
      <Stack>
        <Chosen models={models} chosen={chosen} />
        {first.category === 'chat' ? (
          <ChatBench models={ids} />
        ) : (
          <RunPanel key={first.id} model={first.id} />
        )}
      </Stack>
    </Panel>
  )
}

export const Playground = () => {
  const { data, error } = useShown('GET /models')
  return (
    <>
      <PageHead
        title="Playground"
        about="Calls go through the gateway as yours do, with a key of their own: capped at $0.50 and deleted after an hour."
      />
      <Failed error={error} />
      {data === undefined ? error === null && <Loading rows={5} /> : <Bench models={data.data} />}
    </>
  )
}
