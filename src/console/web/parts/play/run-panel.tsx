/** Runs any model through a form of its inputs: at once or as a job, with its results, their cost and receipt. */
import { Anchor, Button, Group, Progress, Stack, Text } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { useShown } from '../api.ts'
import { CallCost } from '../money/call-cost.tsx'
import { State } from '../state.tsx'
import { Aside, Code, Failed, Panel, SmallButton, Told } from '../ui.tsx'
import { Unread } from '../unread.tsx'
import { cancelRun, type Output, type Run, runNow, startRun, uploadFile } from './play.ts'
import { SchemaForm } from './schema-form.tsx'
import { type InputSchema, inputsOf, type Values } from './schema-values.ts'

/** The path alone, whatever the server's public name is: the page may only load from its own origin. */
const hereOf = (url: string): string => {
  const { pathname, search } = new URL(url, location.origin)
  return pathname.startsWith('/v1/assets/') ? `${pathname}${search}` : url
}

const Shown = ({ output, name }: { output: Output; name: string }) => {
  const { type, url, text, value } = output
  if (url === undefined)
    return <Code text={text ?? JSON.stringify(value ?? output, null, 2)} name={`text of ${name}`} />
  const at = hereOf(url)
  return (
    <Stack gap={6}>
      {type === 'image' && <img className="result" src={at} alt={`What ${name} made`} />}
      {type === 'audio' && (
        // biome-ignore lint/a11y/useMediaCaption: what a model said has no captions.
        <audio controls src={at} aria-label={`What ${name} made`} />
      )}
      {type === 'video' && (
        // biome-ignore lint/a11y/useMediaCaption: what a model made has no captions.
        <video className="result" controls src={at} aria-label={`What ${name} made`} />
      )}
      <Anchor href={at} target="_blank" size="sm">
        Open the {type === 'file' ? (output.media_type ?? 'file') : type}
      </Anchor>
    </Stack>
  )
}

const isOver = ({ status }: Run): boolean =>
  status === undefined || status === 'succeeded' || status === 'failed' || status === 'cancelled'

const Job = ({ run, onCancel }: { run: Run; onCancel: () => void }) => (
  <Stack gap="xs">
    <Group justify="space-between">
      <Told>
        <State of={run.status ?? 'queued'} />
      </Told>
      {run.cancel_cost_usd !== undefined && (
        <SmallButton onClick={onCancel}>
          {run.cancel_cost_usd === 0
            ? 'Cancel the job'
            : `Cancel the job for up to ${run.cancel_cost_usd} USD`}
        </SmallButton>
      )}
    </Group>
    <Progress value={(run.progress ?? 0) * 100} aria-label="Progress of the job" animated />
    <Aside>At most {run.max_cost_usd} USD are held until it ends.</Aside>
  </Stack>
)

/** The results of a run; a job is polled every second until it has ended. */
const Result = ({ started, requestId, model }: { started: Run; requestId: string; model: string }) => {
  const { data = started, error } = useQuery({
    queryKey: ['run', started.id],
    queryFn: () => runNow(started.id),
    enabled: !isOver(started),
    refetchInterval: ({ state }) => (state.data !== undefined && isOver(state.data) ? false : 1_000),
  })
  const cancel = useMutation({ mutationFn: () => cancelRun(started.id) })
  return (
    <Panel title="Result">
      <Stack aria-live="polite">
        <Failed error={error ?? cancel.error} />
        {!isOver(data) && <Job run={data} onCancel={() => cancel.mutate()} />}
        {data.error !== undefined && <Told alert>{data.error.message}</Told>}
        {data.status === 'cancelled' && <Text size="sm">The job was cancelled.</Text>}
        {data.outputs?.map((output, at) => (
          <Shown key={output.url ?? String(at)} output={output} name={model} />
        ))}
        {isOver(data) && data.outputs === undefined && data.error === undefined && (
          <Code text={JSON.stringify(data, null, 2)} name="answer" />
        )}
        {isOver(data) && data.error === undefined && data.status !== 'cancelled' && (
          <CallCost id={requestId} />
        )}
      </Stack>
    </Panel>
  )
}

const Form = ({ model, schema }: { model: string; schema: InputSchema }) => {
  const [values, setValues] = useState<Values>({})
  const run = useMutation({ mutationFn: async () => startRun(model, inputsOf(schema, values)) })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    run.mutate()
  }
  return (
    <Stack>
      <form onSubmit={submit}>
        <Stack>
          <SchemaForm schema={schema} values={values} onChange={setValues} upload={uploadFile} />
          {run.error !== null && <Told alert>{run.error.message}</Told>}
          <Group>
            <Button type="submit" loading={run.isPending}>
              Run
            </Button>
          </Group>
        </Stack>
      </form>
      {run.data !== undefined && (
        <Result
          key={run.data.requestId}
          started={run.data.run}
          requestId={run.data.requestId}
          model={model}
        />
      )}
    </Stack>
  )
}

export const RunPanel = ({ model }: { model: string }) => {
  const { data, error } = useShown('GET /model-inputs', { model })
  if (data === undefined) return <Unread error={error} rows={4} />
  return <Form model={model} schema={data.input_schema} />
}
