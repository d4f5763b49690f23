/** What the router counts, as a text for Prometheus. */
import type { Directory } from '../../cells/directory.ts'
import type { Places } from '../../cells/places.ts'
import type { Refusal } from '../../core/refusal.ts'

export class RouterFigures {
  /** Answers by cell and class of status. */
  readonly #answers = new Map<string, number>()
  readonly #refusals = new Map<string, number>()

  /** Counts the answer of a cell, and gives it back. */
  count(cell: string, answer: Response): Response {
    const labels = `cell="${cell}",status="${Math.floor(answer.status / 100)}xx"`
    this.#answers.set(labels, (this.#answers.get(labels) ?? 0) + 1)
    return answer
  }

  /** Counts what the router refused by itself, and gives its answer back. */
  refused(answer: Response, { code }: Refusal): Response {
    this.#refusals.set(code, (this.#refusals.get(code) ?? 0) + 1)
    return answer
  }

  /** The text, with how many gateways of each cell take calls. */
  text({ cells }: Directory, places: Places): string {
    const family = (
      name: string,
      help: string,
      type: string,
      samples: Iterable<readonly [string, number]>,
    ) => [
      `# HELP ${name} ${help}`,
      `# TYPE ${name} ${type}`,
      ...[...samples].map(([labels, value]) => `${name}{${labels}} ${value}`),
    ]
    const ready = [...cells.values()].map((cell) => [`cell="${cell.name}"`, places.ready(cell)] as const)
    const refusals = [...this.#refusals].map(([code, count]) => [`code="${code}"`, count] as const)
    return `${[
      ...family('turnpike_router_answers_total', 'Answers of cells.', 'counter', this.#answers),
      ...family('turnpike_router_refusals_total', 'Requests that no cell answered.', 'counter', refusals),
      ...family('turnpike_router_gateways_ready', 'Gateways that take calls.', 'gauge', ready),
    ].join('\n')}\n`
  }
}
