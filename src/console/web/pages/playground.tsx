/**
 * The playground: chats, and any other model through a form of its inputs, with a short-lived capped key; each answer
 * shows its cost.
 */
import { Button, Card, Group, NativeSelect, Stack, Text, Textarea } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { type FormEvent, type KeyboardEvent, useRef, useState } from 'react'
import { type Shown, showing } from '../parts/api.ts'
import { CallCost } from '../parts/money/call-cost.tsx'
import { playKey } from '../parts/play/play.ts'
import { RunPanel } from '../parts/play/run-panel.tsx'
import { streamChat, type Turn } from '../parts/play/stream-chat.ts'
import { Empty, Failed, Loading, PageHead, Panel } from '../parts/ui.tsx'

type Message = Turn & { readonly id: number; readonly requestId?: string }

const Bubble = ({ message }: { message: Message }) => (
  <Card
    withBorder
    padding="sm"
    radius="md"
    ml={message.role === 'user' ? 'xl' : 0}
    mr={message.role === 'user' ? 0 : 'xl'}
  >
    <Text size="xs" fw={600} c="dimmed" mb={4}>
      {message.role === 'user' ? 'You' : 'Model'}
    </Text>
    <Text size="sm" className="message">
      {message.content === '' ? '…' : message.content}
    </Text>
    {message.requestId !== undefined && message.requestId !== '' && <CallCost id={message.requestId} />}
  </Card>
)

/** The chat and its message box. */
const useChat = (model: string) => {
  const [messages, setMessages] = useState<readonly Message[]>([])
  const abort = useRef<AbortController>(undefined)
  const send = useMutation({
    mutationFn: async (content: string) => {
      const key = await playKey()
      abort.current = new AbortController()
      const id = messages.length
      const turns = [
        ...messages.map(({ role, content: said }) => ({ role, content: said })),
        { role: 'user' as const, content },
      ]
      setMessages([
        ...messages,
        { id, role: 'user', content },
        { id: id + 1, role: 'assistant', content: '' },
      ])
      const change = (alter: (message: Message) => Message) =>
        setMessages((all) => all.map((message) => (message.id === id + 1 ? alter(message) : message)))
      const result = await streamChat({ key, model, turns, signal: abort.current.signal }, (piece) =>
        change((message) => ({ ...message, content: message.content + piece })),
      )
      change((message) => ({ ...message, requestId: result.requestId }))
    },
  })
  return { messages, send, stop: () => abort.current?.abort(), clear: () => setMessages([]) }
}

const Composer = ({
  onSend,
  pending,
  onStop,
}: {
  onSend: (text: string) => void
  pending: boolean
  onStop: () => void
}) => {
  const [text, setText] = useState('')
  const send = () => {
    if (text.trim() === '' || pending) return
    onSend(text)
    setText('')
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    send()
  }
  const press = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || event.shiftKey) return
    event.preventDefault()
    send()
  }
  return (
    <form onSubmit={submit}>
      <Group align="flex-end" wrap="nowrap">
        <Textarea
          aria-label="Message"
          placeholder="Write a message; Enter sends it, Shift+Enter starts a new line"
          autosize
          minRows={2}
          maxRows={8}
          flex={1}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
          onKeyDown={press}
        />
        {pending ? (
          <Button variant="default" onClick={onStop}>
            Stop
          </Button>
        ) : (
          <Button type="submit">
            Send
          </Button>
        )}
      </Group>
    </form>
  )
}

const Chat = ({ model }: { model: string }) => {
  const { messages, send, stop, clear } = useChat(model)
  return (
    <Stack>
      <Stack gap="sm" aria-live="polite">
        {messages.length === 0 && (
          <Text c="dimmed" size="sm" py="lg" ta="center">
            Your conversation exists only in this page. Each answer shows what it cost.
          </Text>
        )}
        {messages.map((message) => (
          <Bubble key={message.id} message={message} />
        ))}
      </Stack>
      {send.error !== null && (
        <Text size="sm" role="alert">
          {send.error.message}
        </Text>
      )}
      <Composer onSend={(text) => send.mutate(text)} pending={send.isPending} onStop={stop} />
      {messages.length > 0 && (
        <Group>
          <Button size="xs" variant="default" onClick={clear}>
            Clear
          </Button>
        </Group>
      )}
    </Stack>
  )
}

type Models = Shown<'GET /models'>['data']

/** By category, as the options of a select. */
const choicesOf = (models: Models) =>
  [...new Set(models.map(({ category }) => category))].map((category) => ({
    group: category.replaceAll('_', ' '),
    items: models.filter((model) => model.category === category).map(({ id }) => id),
  }))

const Bench = ({ models }: { models: Models }) => {
  const query: { model?: string } = useSearch({ strict: false })
  const navigate = useNavigate()
  const chosen =
    models.find(({ id }) => id === query.model) ??
    models.find(({ id }) => id === 'local/echo-1') ??
    models.find(({ category }) => category === 'chat') ??
    models[0]
  if (chosen === undefined) return <Empty title="Nothing is sold here">This server has no model.</Empty>
  return (
    <Panel>
      <Stack>
        <NativeSelect
          label="Model"
          data={choicesOf(models)}
          value={chosen.id}
          onChange={(event) =>
            void navigate({ to: '/playground', search: { model: event.currentTarget.value }, replace: true })
          }
          maw={420}
        />
        {chosen.category === 'chat' ? (
          <Chat key={chosen.id} model={chosen.id} />
        ) : (
          <RunPanel key={chosen.id} model={chosen.id} />
        )}
      </Stack>
    </Panel>
  )
}

export const Playground = () => {
  const { data, error } = useQuery(showing('GET /models'))
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
