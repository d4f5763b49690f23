/** One conversation with up to four models side by side: what each answers, costs and takes, and the program that asks it. */
import { Card, Group, SimpleGrid, Stack, Text } from '@mantine/core'
import { useEffect, useRef, useState } from 'react'
import { Dialog } from '../dialog.tsx'
import { CallCost } from '../money/call-cost.tsx'
import { Aside, Code, Note, SmallButton, Told } from '../ui.tsx'
import { type Attached, bodyFor, noSettings, type Round, troubles } from './asked.ts'
import { CodeTabs } from './code-tabs.tsx'
import { Composer } from './composer.tsx'
import { programsFor } from './programs.ts'
import { SettingsFields } from './settings-fields.tsx'
import { type Answer, noAnswer, streamChat } from './stream-chat.ts'

const Answered = ({ model, answer }: { model: string; answer: Answer }) => {
  const { text, calls, requestId, firstMs, tookMs, error } = answer
  const isEmpty = text === '' && calls.length === 0
  return (
    <Card withBorder padding="sm" radius="md" component="section" aria-label={`Answer of ${model}`}>
      <Aside fw={600} mb={4} className="label">
        {model}
      </Aside>
      <Text size="sm" className="message">
        {isEmpty && error === undefined ? (tookMs === undefined ? '…' : 'An empty answer.') : text}
      </Text>
      {calls.map(({ id, name, arguments: given }) => (
        <Code key={id} text={`${name}(${given})`} name={`call of ${name}`} />
      ))}
      {error !== undefined && <Told alert>{error}</Told>}
      {firstMs !== undefined && tookMs !== undefined && (
        <Aside mt={4}>
          First token after {firstMs} ms, all of it after {tookMs} ms
        </Aside>
      )}
      {requestId !== undefined && requestId !== '' && <CallCost id={requestId} />}
    </Card>
  )
}

const RoundShown = ({ round }: { round: Round }) => {
  const { models } = round
  const few = Math.min(2, models.length)
  return (
    <Stack gap="sm">
      <Card withBorder padding="sm" radius="md" ml="xl">
        <Aside fw={600} mb={4}>
          You
        </Aside>
        <Text size="sm" className="message">
          {[round.text, ...round.files.map(({ name }) => `[${name}]`)].join(' ').trim()}
        </Text>
      </Card>
      <SimpleGrid cols={{ base: 1, sm: few, lg: models.length === 3 ? 3 : few }}>
        {models.map((model) => (
          <Answered key={model} model={model} answer={round.answers[model] ?? noAnswer} />
        ))}
      </SimpleGrid>
    </Stack>
  )
}

/** The conversation: sent to all models at once, each of which goes on with its own answers. */
const useRounds = (models: readonly string[]) => {
  const [rounds, setRounds] = useState<readonly Round[]>([])
  const [settings, setSettings] = useState(noSettings)
  const [open, setOpen] = useState(0)
  const [error, setError] = useState<string>()
  const abort = useRef<AbortController>(undefined)
  // An answer that nobody sees any more, and nobody could stop, would go on at their cost.
  useEffect(() => () => abort.current?.abort(), [])
  const ask = (all: readonly Round[], id: number, signal: AbortSignal) => {
    const tell = (model: string) => (answer: Answer) =>
      setRounds((now) =>
        now.map((round) =>
          round.id === id ? { ...round, answers: { ...round.answers, [model]: answer } } : round,
        ),
      )
    return Promise.all(
      models.map((model) => streamChat({ body: bodyFor(model, settings, all), signal }, tell(model))),
    )
  }
  const send = (text: string, files: readonly Attached[]): boolean => {
    if (Object.keys(troubles(settings)).length > 0) {
      setError('First correct what is marked above.')
      return false
    }
    const id = rounds.length
    const all = [...rounds, { id, text, files, models, answers: {} }]
    abort.current = new AbortController()
    setRounds(all)
    setError(undefined)
    setOpen((count) => count + 1)
    void ask(all, id, abort.current.signal).finally(() => setOpen((count) => count - 1))
    return true
  }
  return {
    ...{ rounds, settings, error, send, pending: open > 0 },
    change: (more: Partial<typeof settings>) => setSettings((now) => ({ ...now, ...more })),
    stop: () => abort.current?.abort(),
    clear: () => setRounds([]),
  }
}

/** The question that is shown in programs where none was asked yet. */
const HELLO: Round = { id: 0, text: 'Hello', files: [], models: [], answers: {} }

export const ChatBench = ({ models }: { models: readonly string[] }) => {
  const { rounds, settings, error, pending, send, change, stop, clear } = useRounds(models)
  const [showsCode, setShowsCode] = useState(false)
  /** As the last question was asked. */
  const asked =
    rounds.length === 0
      ? [HELLO]
      : rounds.map((one, at) => (at === rounds.length - 1 ? { ...one, answers: {} } : one))
  return (
    <Stack>
      <SettingsFields settings={settings} change={change} />
      <Stack gap="sm" aria-live="polite">
        {rounds.length === 0 && (
          <Note py="lg" ta="center">
            Your conversation exists only in this page. Each answer shows what it cost.
          </Note>
        )}
        {rounds.map((round) => (
          <RoundShown key={round.id} round={round} />
        ))}
      </Stack>
      {error !== undefined && <Told alert>{error}</Told>}
      <Composer onSend={send} pending={pending} onStop={stop} />
      <Group gap="xs">
        <SmallButton onClick={() => setShowsCode(true)}>Show code</SmallButton>
        {rounds.length > 0 && <SmallButton onClick={clear}>Clear</SmallButton>}
      </Group>
      <Dialog opened={showsCode} onClose={() => setShowsCode(false)} title={`Ask ${models[0]}`} size="lg">
        {showsCode && (
          <CodeTabs
            programs={programsFor(location.origin, '<your key>', bodyFor(models[0] ?? '', settings, asked))}
          />
        )}
      </Dialog>
    </Stack>
  )
}
